// Divides the rows of a tensor among ranks.
#pragma once

#include <cstdint>

namespace hone {

// One rank (process) of the `ranks` ranks that divide something; `rank` counts from 0.
struct Share {
  int64_t rank = 0, ranks = 1;
  bool alone() const { return ranks <= 1; }
  bool operator==(const Share&) const = default;
};

// Rows [begin, end) of a tensor's first axis.
struct RowRange {
  int64_t begin = 0, end = 0;
  int64_t count() const { return end - begin; }
  bool operator==(const RowRange&) const = default;
};

// The rows that share.rank holds of a tensor with `rows` rows. Rows are divided in units of `unit` consecutive rows,
// which stay together; the last unit may have fewer rows. The ranks' numbers of units differ by at most one.
inline RowRange share_rows(int64_t rows, const Share& share, int64_t unit = 1) {
  const int64_t units = (rows + unit - 1) / unit;
  const auto bound = [&](int64_t rank) {
    const int64_t row = units * rank / share.ranks * unit;
    return row < rows ? row : rows;
  };
  return {bound(share.rank), bound(share.rank + 1)};
}

}  // namespace hone
