// tensor_split: tensor parallelism (M. Shoeybi et al., "Megatron-LM", arXiv 1909.08053). A group of ranks divides
// matrix products: each rank computes some heads of an attention, and some columns of a feed-forward layer:
//
//   %5 = linear(%4, %w_q)           ->  %s = sum_gradient(%4)           w_q, b_q: this rank's columns
//   %6 = attention(%5, ..)              %5 = linear(%s, %w_q)
//   %7 = linear(%6, %w_o, %b)           %6 = attention(%5, ..) {heads/ranks, first_head}
//                                       %7 = linear(%6, %w_o)           w_o: this rank's rows
//                                       %8 = wait(all_reduce(%7)) + b
//
// The pass recognizes layers by their dataflow. An attention layer: the products whose results attention reads as
// queries, keys and values, and the product that reads the attention's result. A feed-forward layer: a product that
// reads the result of an activation, and the products whose results the activation reads. Language-model heads and word
// embeddings are divided by words (vocabulary_split.h).
// Norms, other embeddings and losses are whole on every rank. If a product of a layer cannot be divided, for example
// because its weight is not a parameter, every rank computes it as a whole and slices its result. The ranks' partial
// products are added in the order of ranks. Dropout masks are equal to those of a run with one rank.
//
// Run the pass first, before differentiate. Afterwards the states of divided weights have the types of their parts.
#pragma once

#include <map>
#include <string>

#include "engine/graph/axis_parts.h"
#include "engine/graph/graph.h"

namespace hone {

// The group: ranks [first, first + share.ranks) of the run. share.rank: this rank's number in the group.
struct TensorSplit {
  Share share = {};
  int64_t first = 0;
  std::map<std::string, AxisParts> weights = {};  // by name: this rank's parts of divided weights
  bool any() const { return !share.alone(); }
};

// Finds the parts of the weights of a forward program for rank share.rank. H1101: a layer, or the whole model, cannot
// be divided among this number of ranks.
Result<TensorSplit> find_tensor_split(const Program& forward, const Share& share, int64_t first);

// Rewrites a program. All programs of a run must get the same `how`. H1101: a layer cannot be divided, the program
// divides a weight in a way that differs from `how`, or it reads a divided weight as a whole.
Result<bool> tensor_split(Program& p, const TensorSplit& how);

// Removes sum_gradient nodes, which mark where the gradients of the ranks must be added. Run it after differentiate,
// which no longer needs them.
Result<bool> drop_sum_gradients(Program& p);

}  // namespace hone
