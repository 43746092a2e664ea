// Finds rows that appear more than once, with limited memory.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace hone {

// The place of a row.
struct RowPlace {
  int32_t file = 0;  // index of the file in RowFiles
  int64_t line = 0;  // line in the file, from 1
};

// The names of the files that rows were read from.
class RowFiles {
 public:
  // The place of a line. Adds the file if it is new.
  RowPlace place(std::string_view file, int64_t line);
  std::string text(RowPlace place) const;  // "train.csv:7"

 private:
  std::vector<std::string> names_;
};

// Counts rows by a 64-bit hash of their text. If there are more than `most` distinct hashes, keeps only every second,
// fourth, ... hash. All copies of a text have one hash, so this sample gives correct shares; counts must then be
// divided by share().
class RowTable {
 public:
  // The rows with one text. Index 0: training rows; index 1: validation rows.
  struct Entry {
    int64_t count[2] = {0, 0};
    RowPlace first[2];  // place of the first row
    RowPlace again;     // place of the second training row
  };
  explicit RowTable(size_t most = 1 << 20) : most_(most) {}

  // Adds a row. `validation`: false, a training row.
  void add(std::string_view text, bool validation, RowPlace place);
  // The share of the hashes that the table keeps: 1, 1/2, 1/4, ...
  double share() const { return 1.0 / static_cast<double>(mask_ + 1); }
  const std::unordered_map<uint64_t, Entry>& entries() const { return entries_; }

 private:
  size_t most_;
  uint64_t mask_ = 0;
  std::unordered_map<uint64_t, Entry> entries_;
};

}  // namespace hone
