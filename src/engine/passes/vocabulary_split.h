// Internal to tensor_split: divides the vocabulary of a language model. Each rank has some rows (words) of the word
// embedding and of the head (M. Shoeybi et al., "Megatron-LM", arXiv 1909.08053, section 3).
//
//   %5 = embedding(%table, %ids)    ->  each rank looks up its words, with zeros for the others; the results are added
//   %9 = linear_cross_entropy(..)   ->  each rank computes, for each token, the log-sum-exp of the logits of its words.
//                                       The ranks exchange these numbers and the logits of labels, never all logits.
//
// Each rank runs linear_cross_entropy over its rows, with a local label for each token: the token's label, or row 0 if
// another rank has the label. The log-sum-exp of the rank's logits is nll + z, where z is the logit of the local label:
// the product of x with one row. So the fused kernel, which never holds all logits, can still be used, and so can its
// gradient: the gradient of z cancels the one-hot term of row 0.
#pragma once

#include <set>

#include "engine/graph/builder.h"
#include "engine/graph/shard.h"

namespace hone {

// This rank's part of a vocabulary.
struct VocabularyPart {
  Share share = {};    // this rank among the ranks that divide the vocabulary
  RowRange rows = {};  // the words of this rank
  int64_t size = 0;    // the number of all words
  Attrs axis = {};     // the attributes (ranks, rank, first, ...) of collectives among these ranks
};

// The weights of a forward program (their old versions) that can be divided by words: heads, their biases, and
// embeddings with as many rows as a head. Each has at least `ranks` rows, and all of its readers can read a part of it.
std::set<ValueId> vocabulary_weights(const Program& program, int64_t ranks);

// The operands of a linear_cross_entropy node. x, labels, scale and weights (of tokens) are whole; x may be the result
// of a sum_gradient. w and bias are this rank's parts. kNoValue: absent.
struct HeadOperands {
  ValueId x = kNoValue, w = kNoValue, labels = kNoValue, scale = kNoValue, bias = kNoValue,
          weights = kNoValue;
};
struct HeadLosses {
  ValueId loss = kNoValue, nll = kNoValue, correct = kNoValue;
};
// Emits the node `head`, a linear_cross_entropy, for a divided vocabulary; the results are equal on all ranks.
// `correct`: whether result `correct` is needed; else it is kNoValue.
HeadLosses emit_head_of_part(Builder& b, const Node& head, const HeadOperands& in,
                             const VocabularyPart& part, bool correct);

// Emits the node `lookup`, an embedding, with this rank's part of its table. `ids` are whole, and so is the result,
// which is equal on all ranks.
ValueId emit_lookup_of_part(Builder& b, const Node& lookup, ValueId table, ValueId ids,
                            const VocabularyPart& part);

}  // namespace hone
