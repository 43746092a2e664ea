// Finds rows that appear more than once, in bounded memory.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace hone {

// The place of a row: index of its file in a list, and its line there.
struct RowPlace {
  int32_t file = 0;
  int64_t line = 0;
};

// The files that rows were read from.
class RowFiles {
 public:
  RowPlace place(std::string_view file, int64_t line);
  std::string text(RowPlace place) const;  // "train.csv:7"

 private:
  std::vector<std::string> names_;
};

// Rows by a 64-bit hash of their text. If there are more than `most` distinct hashes, it keeps only
// every second, fourth, ... hash. This sample has all copies of a text, so shares stay right.
// Counts of such a table are estimates (`share()` < 1).
class RowTable {
 public:
  struct Entry {
    int64_t count[2] = {0, 0};  // in training and validation
    RowPlace first[2];
    RowPlace again;  // of the second training row
  };
  explicit RowTable(size_t most = 1 << 20) : most_(most) {}

  void add(std::string_view text, bool validation, RowPlace place);
  double share() const { return 1.0 / static_cast<double>(mask_ + 1); }  // of all rows, kept here
  const std::unordered_map<uint64_t, Entry>& entries() const { return entries_; }

 private:
  size_t most_;
  uint64_t mask_ = 0;
  std::unordered_map<uint64_t, Entry> entries_;
};

}  // namespace hone
