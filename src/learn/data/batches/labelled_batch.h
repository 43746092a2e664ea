// Additions of a classifier's micro-batch to batch.h: token types, and a label for each sequence or
// each token.
#pragma once

#include "learn/data/batches/batch.h"
#include "learn/data/rows/labelled_rows.h"

namespace hone {

// The inputs of a packed micro-batch. Those that a program does not have are empty.
struct LabelInputs {
  std::span<int32_t> token_types = {};  // [T], 0 in slack
  // [S], kIgnoreLabel for empty sequences, slack, rows without one
  std::span<int32_t> classes = {};
  std::span<float> values = {}, weight = {};  // [S] regression: the label, and 1 where there is one
  std::span<int32_t> tags = {};               // [T], kIgnoreLabel in slack
};
void fill_labels(const TokenRows& rows, const RowLabels& labels, const BatchRows& batch,
                 const LabelInputs& to);

}  // namespace hone
