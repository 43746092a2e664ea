#include "learn/metrics/confusion.h"

namespace hone {

void Confusion::add(int64_t prediction, int64_t reference, int64_t times) {
  if (times == 0) return;
  total_ += times;
  classes_[prediction].predicted += times;
  ClassCounts& expected = classes_[reference];
  expected.expected += times;
  if (prediction == reference) {
    expected.right += times;
    right_ += times;
  }
}

void LabelMetric::add_label(int64_t prediction, int64_t reference) {
  confusion_.add(prediction, reference);
  if (!keep_) return;
  const auto next = static_cast<int32_t>(cells_.size());
  examples_.push_back(cells_.try_emplace({prediction, reference}, next).first->second);
}

Result<MetricValues> LabelMetric::values_of(std::span<const int32_t> times) const {
  HONE_BUG_IF(times.size() != examples_.size(), "{} weights, {} examples", times.size(),
              examples_.size());
  std::vector<int64_t> counts(cells_.size());
  for (size_t i = 0; i < times.size(); ++i) counts[static_cast<size_t>(examples_[i])] += times[i];
  Confusion c;
  for (const auto& [pair, cell] : cells_)
    c.add(pair.first, pair.second, counts[static_cast<size_t>(cell)]);
  return values_of(c);
}

}  // namespace hone
