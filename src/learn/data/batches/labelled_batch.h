// What a classifier's micro-batch has beside that of batch.h: token types, a label a sequence.
#pragma once

#include "learn/data/batches/batch.h"
#include "learn/data/rows/labelled_rows.h"

namespace hone {

struct LabelInputs {
  std::vector<int32_t> token_types;   // [T], 0 in slack
  std::vector<int32_t> classes;       // [S], kIgnoreLabel for slack, empty slots, rows without one
  std::vector<float> values, weight;  // [S] regression: the label, and 1 where there is one
};

// For a packed micro-batch of `rows`: its row_ids say which. The memory of `out` is used again.
void fill_label_inputs(const TokenRows& rows, const RowLabels& labels, const MicroBatch& batch,
                       LabelInputs& out);
void reserve_label_inputs(const BatchGrid& grid, LabelInputs& out);

}  // namespace hone
