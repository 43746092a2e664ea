// tensor_split: the ranks of an axis divide products (M. Shoeybi et al., "Megatron-LM", arXiv 1909.08053). Each
// has some heads of an attention and some columns of a feed-forward layer:
//
//   %5 = linear(%4, %w_q)           ->  %s = sum_gradient(%4)           w_q, b_q: this rank's columns
//   %6 = attention(%5, ..)              %5 = linear(%s, %w_q)
//   %7 = linear(%6, %w_o, %b)           %6 = attention(%5, ..) {heads/ranks, first_head}
//                                       %7 = linear(%6, %w_o)           w_o: this rank's rows
//                                       %8 = wait(all_reduce(%7)) + b
//
// Layers are found by the values between them: queries, keys and values come from the projections that
// attention reads; a feed-forward layer is a product of an activation, whose operands are products. Language-model
// heads and their tables of words are divided by words (vocabulary_split.h). Norms, other tables and losses stay whole on
// every rank, and so do products that cannot be followed to a weight, whose results are sliced. The sum of the ranks'
// products has the order of ranks. Dropout's masks are those of one rank.
//
// The pass comes first, before gradients. States then have the types of their parts.
#pragma once

#include <map>
#include <string>

#include "engine/graph/axis_parts.h"
#include "engine/graph/graph.h"

namespace hone {

// The ranks [first, first + share.ranks) of a run, which divide products.
struct TensorSplit {
  Share share = {};
  int64_t first = 0;  // the rank of the run that is the first one of the axis
  std::map<std::string, AxisParts> weights = {};  // by name: those with parts on each rank
  bool any() const { return !share.alone(); }
};

// The parts of the weights of a forward program, of which `share` is one rank. Errors: H1101 a layer cannot be
// divided among this number of ranks.
Result<TensorSplit> find_tensor_split(const Program& forward, const Share& share, int64_t first);

// All programs of a run take the same split. Errors: those of find_tensor_split; H1101 a program reads a part as
// if it were whole.
Result<bool> tensor_split(Program& p, const TensorSplit& how);

// After gradients: removes sum_gradient.
Result<bool> drop_sum_gradients(Program& p);

}  // namespace hone
