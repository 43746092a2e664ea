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

// Counts rows by a 64-bit hash of their text. Keeps at most `most` distinct hashes: if there are more, it keeps about
// half of them, then a quarter, and so on. All copies of a text have the same hash, so the table counts all of them or
// does not count the text. To estimate the counts of all rows, divide the counts of the table by share().
class RowTable {
 public:
  // All rows with the same text. Index 0: training rows; index 1: validation rows.
  struct Entry {
    int64_t count[2] = {0, 0};  // number of rows
    RowPlace first[2];          // place of the first row; not set if count is 0
    RowPlace again;             // place of the second training row; not set if there is none
  };
  explicit RowTable(size_t most = 1 << 20) : most_(most) {}

  // Adds a row. `validation`: true: a validation row; false: a training row.
  void add(std::string_view text, bool validation, RowPlace place);
  // The share of the distinct hashes that the table keeps: 1, 1/2, 1/4, ...
  double share() const { return 1.0 / static_cast<double>(mask_ + 1); }
  // The kept rows by hash.
  const std::unordered_map<uint64_t, Entry>& entries() const { return entries_; }

 private:
  size_t most_;
  uint64_t mask_ = 0;
  std::unordered_map<uint64_t, Entry> entries_;
};

}  // namespace hone
