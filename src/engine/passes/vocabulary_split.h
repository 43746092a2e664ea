// The vocabulary of a language model in parts: each rank of an axis has some rows of the table of words and of the head
// (M. Shoeybi et al., "Megatron-LM", arXiv 1909.08053, section 3). Parts of tensor_split.h.
//
//   %5 = embedding(%table, %ids)    ->  rows of words that are on other ranks are 0; the ranks' rows are added
//   %9 = linear_cross_entropy(..)   ->  each rank has the log-sum-exp of its logits for each token; the ranks send these
//                                       and the logits of the labels that they have, never logits of a vocabulary
//
// A part's log-sum-exp is nll + z of a linear_cross_entropy over this rank's rows, whose label is the token's, or row 0 if
// another rank has it; z is that row's logit, a product of one row. So the kernel that holds no logits stays, and its
// gradient too: the terms of z take the one-hot of row 0 away.
#pragma once

#include <set>

#include "engine/graph/builder.h"
#include "engine/graph/shard.h"

namespace hone {

// Rows of a vocabulary of `size` words on a rank; `axis`: the attributes of a collective over the axis.
struct VocabularyPart {
  Share share = {};
  RowRange rows = {};
  int64_t size = 0;
  Attrs axis = {};
};

// The weights of a forward program with a row for each word, as values: heads, their biases, and tables with as many rows
// as a head. All that reads one of them can have a part. Each has a row or more on each of `ranks`.
std::set<ValueId> vocabulary_weights(const Program& program, int64_t ranks);

// The node `head` is a linear_cross_entropy. Its x, labels, scale and weights are whole; x may be a sum_gradient. The other
// operands are parts. `correct`: it is read.
struct HeadOperands {
  ValueId x = kNoValue, w = kNoValue, labels = kNoValue, scale = kNoValue, bias = kNoValue,
          weights = kNoValue;
};
struct HeadLosses {
  ValueId loss = kNoValue, nll = kNoValue, correct = kNoValue;
};
HeadLosses emit_head_of_part(Builder& b, const Node& head, const HeadOperands& in,
                             const VocabularyPart& part, bool correct);

// The node `lookup`, an embedding of whole ids, with a part of its table; equal on all ranks.
ValueId emit_lookup_of_part(Builder& b, const Node& lookup, ValueId table, ValueId ids,
                            const VocabularyPart& part);

}  // namespace hone
