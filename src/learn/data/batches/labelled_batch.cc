#include "learn/data/batches/labelled_batch.h"

#include <algorithm>

namespace hone {

void fill_label_inputs(const TokenRows& rows, const RowLabels& labels, const MicroBatch& batch,
                       LabelInputs& out) {
  const size_t S = batch.row_ids.size();
  out.token_types.assign(batch.ids.size(), 0);
  out.classes.assign(S, kIgnoreLabel);
  out.values.assign(S, 0.0f);
  out.weight.assign(S, 0.0f);
  for (size_t s = 0; s < S; ++s) {
    const int64_t row = batch.row_ids[s];
    if (row < 0) continue;
    const auto r = static_cast<size_t>(row);
    const std::span<const uint8_t> types = labels.types_of(rows, row);
    std::copy(types.begin(), types.end(), out.token_types.begin() + batch.cu_seqlens[s]);
    if (r < labels.classes.size()) out.classes[s] = labels.classes[r];
    if (r >= labels.values.size()) continue;
    out.values[s] = labels.values[r];
    out.weight[s] = 1.0f;
  }
}

void reserve_label_inputs(const BatchGrid& grid, LabelInputs& out) {
  const auto slots = static_cast<size_t>(grid.slots);
  out.token_types.reserve(static_cast<size_t>(grid.largest()));
  out.classes.reserve(slots);
  out.values.reserve(slots);
  out.weight.reserve(slots);
}

}  // namespace hone
