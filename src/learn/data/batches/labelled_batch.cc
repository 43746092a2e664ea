#include "learn/data/batches/labelled_batch.h"

#include <algorithm>

namespace hone {

void fill_labels(const TokenRows& rows, const RowLabels& labels, const BatchRows& batch,
                 const LabelInputs& to) {
  std::fill(to.token_types.begin(), to.token_types.end(), 0);
  std::fill(to.classes.begin(), to.classes.end(), kIgnoreLabel);
  std::fill(to.values.begin(), to.values.end(), 0.0f);
  std::fill(to.weight.begin(), to.weight.end(), 0.0f);
  std::fill(to.tags.begin(), to.tags.end(), kIgnoreLabel);
  int64_t at = 0;
  for (size_t s = 0; s < batch.rows.size(); ++s) {
    const int64_t row = batch.rows[s];
    const auto r = static_cast<size_t>(row);
    if (!to.token_types.empty()) {
      const std::span<const uint8_t> types = labels.types_of(rows, row);
      std::copy(types.begin(), types.end(), to.token_types.begin() + at);
    }
    if (!to.tags.empty()) {
      const std::span<const int32_t> tags = labels.tags_of(rows, row);
      std::copy(tags.begin(), tags.end(), to.tags.begin() + at);
    }
    at += rows.length(row);
    if (!to.classes.empty() && r < labels.classes.size()) to.classes[s] = labels.classes[r];
    if (to.values.empty() || r >= labels.values.size()) continue;
    to.values[s] = labels.values[r];
    to.weight[s] = 1.0f;
  }
}

}  // namespace hone
