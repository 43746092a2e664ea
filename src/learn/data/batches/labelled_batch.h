// The inputs of a classifier beside those of batch.h: token types, and a label for each sequence or each token.
#pragma once

#include "learn/data/batches/batch.h"
#include "learn/data/rows/labelled_rows.h"

namespace hone {

// Buffers for a packed micro-batch of T tokens and at most S sequences, owned by the caller. An empty buffer is not
// filled.
struct LabelInputs {
  std::span<int32_t> token_types = {};  // [T], 0 in slack
  // [S] the class; kIgnoreLabel for empty sequences, the slack and rows without a class
  std::span<int32_t> classes = {};
  // [S] regression. For a sequence with a label, `values` has the label and `weight` is 1; for others both are 0.
  std::span<float> values = {}, weight = {};
  std::span<int32_t> tags = {};  // [T] the class of each token; kIgnoreLabel in slack
};
// Fills `to` from the labels of the micro-batch's rows, in the order in which pack_rows packs them.
void fill_labels(const TokenRows& rows, const RowLabels& labels, const BatchRows& batch,
                 const LabelInputs& to);

}  // namespace hone
