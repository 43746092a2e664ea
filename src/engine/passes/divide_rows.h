// divide_rows: ranks that hold equal values divide the rows of matrix products among themselves. Each rank computes
// some rows of a result and gathers the other rows from the other ranks:
//
//   %5 = linear(%4, %w, %b)     ->  %8 = slice(%4) {axis=0}           this rank's rows
//                                   %9 = linear(%8, %w, %b)
//                                   %10 = all_gather(%9) lane comm    waited for by the first reader of %5
//
// Each element of a product is still summed on one rank. So each value has the same bits as on one rank, if the device
// computes each row of a product of at least kLeastRows rows independently of the other rows (DeviceSpec::rows_apart).
// A product with fewer than kLeastRows rows for each rank is not divided. Every rank computes such products and all
// other nodes as a whole. Weights stay whole, unlike with tensor_split.
//
// Run the pass after differentiate and all passes that fuse nodes.
#pragma once

#include "engine/graph/graph.h"
#include "engine/graph/shard.h"

namespace hone {

// The group: ranks [first, first + share.ranks) of the run. share.rank: this rank's number in the group.
struct RowDivision {
  Share share = {};
  int64_t first = 0;
  static constexpr int64_t kLeastRows = 64;  // the fewest rows of a product that a rank computes
  bool any() const { return !share.alone(); }
};

Result<bool> divide_rows(Program& p, const RowDivision& how);

}  // namespace hone
