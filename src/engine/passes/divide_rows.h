// divide_rows: the ranks of an axis, which have the same values, divide the rows of matrix products. Each computes some
// rows of a result, and gathers those of the others:
//
//   %5 = linear(%4, %w, %b)     ->  %8 = slice(%4) {axis=0}           this rank's rows
//                                   %9 = linear(%8, %w, %b)
//                                   %10 = all_gather(%9) lane comm    waited for by the first reader of %5
//
// No sum is divided, so all values keep the bits that they have on one rank, on a device whose products of
// kLeastRows rows or more give a row the same bits beside any others (DeviceSpec::rows_apart). Products of fewer rows,
// and all other nodes, are computed by every rank. Unlike tensor_split, weights stay whole.
//
// After gradients and all passes that join nodes.
#pragma once

#include "engine/graph/graph.h"
#include "engine/graph/shard.h"

namespace hone {

// The ranks [first, first + share.ranks) of a run.
struct RowDivision {
  Share share = {};
  int64_t first = 0;
  static constexpr int64_t kLeastRows = 64;  // of each rank
  bool any() const { return !share.alone(); }
};

Result<bool> divide_rows(Program& p, const RowDivision& how);

}  // namespace hone
