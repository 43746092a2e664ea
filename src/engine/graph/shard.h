// The rows of a tensor that each of several ranks holds.
#pragma once

#include <cstdint>

namespace hone {

// One of the processes that train a model together.
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

// The rows of one rank, of a tensor with `rows` rows: whole units of `unit` rows. Ranks differ by at
// most one unit. The last unit may have fewer rows.
inline RowRange share_rows(int64_t rows, const Share& share, int64_t unit = 1) {
  const int64_t units = (rows + unit - 1) / unit;
  const auto bound = [&](int64_t rank) {
    const int64_t row = units * rank / share.ranks * unit;
    return row < rows ? row : rows;
  };
  return {bound(share.rank), bound(share.rank + 1)};
}

}  // namespace hone
