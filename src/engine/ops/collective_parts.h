// Shared parts of the collectives all_reduce, reduce_scatter, all_gather and fold_units. Each takes a list of tensors
// and does one exchange with the same node of every other rank, on the lane comm.
//
// Attribute ranks is the number of ranks, rank this rank's number from 0. The rows (first axis) of a tensor are divided
// among the ranks by share_rows(rows, {rank, ranks}, unit) (engine/graph/shard.h). The unit of tensor i is units[i],
// or 1 if units is empty. If owners[i] >= 0, rank owners[i] has all rows of tensor i and other ranks have none. If
// owners[i] is kEverywhere (fold_units only), every rank has all rows. owners is empty if no tensor has an owner.
// Attributes first and stride map rank r of the node to rank first + r * stride of the run, so each axis of a
// mesh of ranks has collectives of its own.
// Op::cost is zero, because the exchange runs in parallel with the computation. Sums are computed in the order of
// ranks, x_0 + x_1 + ..., in f32 (f64 for f64), and rounded once.
#pragma once

#include "engine/ops/support.h"

namespace hone {

inline constexpr int64_t kMostRows = int64_t{1} << 40;  // the most rows of a tensor, and of a unit
// The scratch of one collective holds at most this number of received bytes; more bytes come in several rounds.
inline constexpr int64_t kRoundBytes = int64_t{8} << 20;
inline constexpr int64_t kEverywhere = -2;  // in owners: every rank has all rows of the tensor

// The attributes ranks, rank, first and stride; with `of_rows` also units and owners.
std::vector<AttrSpec> collective_attrs(bool of_rows);
void set_split(Attrs& attrs, const ops::Split& split);

Share share_of(const NodeView& n);  // the attributes rank and ranks
// The number that rank `rank` of the node has in the run.
int64_t member(const NodeView& n, int64_t rank);
// The rows of tensor i, which has `rows` rows, on rank `rank` of the node.
RowRange rank_rows(const NodeView& n, size_t i, int64_t rows, int64_t rank);
// The ranks of a fold_units node with which this rank exchanges terms, and this rank itself, in rising order: one rank
// of each group of `copies` ranks.
std::vector<int64_t> fold_peers(const NodeView& n);

// Checks the attributes above for the first `tensors` operands: H1203 if they are incomplete or out of range.
// `everywhere`: owners may contain kEverywhere, for scalars too.
Status expect_split(const NodeView& n, size_t tensors, bool everywhere = false);
// Checks that the first `tensors` operands are floats of one element type: else H1203.
Status expect_bucket(const NodeView& n, size_t tensors);

}  // namespace hone
