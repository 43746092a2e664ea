// Shared parts of the collectives: all_reduce, reduce_scatter, all_gather. Each takes a list of tensors
// and does one exchange with the same node of every other rank, on the lane comm.
//
// Attributes ranks and rank: the number of ranks, and this one. A tensor is cut into rows of its
// first axis: rank r has those of share_rows(rows, {r, ranks}, unit) (engine/graph/shard.h), where
// unit is units[i] for tensor i, and 1 if units is empty. A tensor with owners[i] >= 0 is wholly that
// rank's, and the others have none of its rows; one with kEverywhere is whole on every rank
// (fold_units). owners is empty if no tensor has an owner.
// Attributes first and stride: rank r of the node is rank first + r * stride of the run, so an axis of a
// mesh has collectives of its own.
// The cost is free: it is beside the computation. Sums are made in the order of ranks, x_0 + x_1 +
// ..., in f32 (f64 for f64), and rounded once.
#pragma once

#include "engine/ops/support.h"

namespace hone {

inline constexpr int64_t kMostRows = int64_t{1} << 40;
// The scratch of one collective holds at most this number of received bytes; more come in rounds.
inline constexpr int64_t kRoundBytes = int64_t{8} << 20;
inline constexpr int64_t kEverywhere = -2;  // owner of a tensor that every rank has whole

std::vector<AttrSpec> collective_attrs(bool of_rows);
void set_split(Attrs& attrs, const ops::Split& split);

Share share_of(const NodeView& n);
int64_t member(const NodeView& n, int64_t rank);  // its rank in the run
// The rows of tensor i, which has `rows` rows, on rank `rank`.
RowRange rank_rows(const NodeView& n, size_t i, int64_t rows, int64_t rank);
// The ranks of a fold_units that exchange terms with this one, and itself: one of each group of copies.
std::vector<int64_t> fold_peers(const NodeView& n);

// The attributes are whole, for the first `tensors` operands. `everywhere`: kEverywhere may be an
// owner, of a scalar too.
Status expect_split(const NodeView& n, size_t tensors, bool everywhere = false);
// The first `tensors` operands are floats of one element type.
Status expect_bucket(const NodeView& n, size_t tensors);

}  // namespace hone
