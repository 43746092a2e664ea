#include "operate/registry/metric_interval.h"

#include <algorithm>
#include <cmath>

#include "learn/metrics/bootstrap.h"
#include "operate/registry/row_scores.h"

namespace hone {

Result<MetricInterval> metric_interval(const Evaluation& evaluation, const std::string& metric,
                                       double confidence) {
  std::vector<const EvaluatedRow*> rows;
  for (const EvaluatedRow& r : evaluation.rows) rows.push_back(&r);
  const auto scores = HONE_TRY(row_scores(rows, metric));
  std::vector<int32_t> times(rows.size(), 1);
  MetricInterval m;
  m.value = HONE_TRY(scores->value(times));
  const BootstrapOptions options;
  std::vector<double> drawn;
  for (int64_t sample = 0; sample < options.samples; ++sample) {
    draw_examples(options.seed, static_cast<uint64_t>(sample), times);
    if (const double x = HONE_TRY(scores->value(times)); !std::isnan(x)) drawn.push_back(x);
  }
  std::sort(drawn.begin(), drawn.end());
  m.low = percentile_of_sorted(drawn, (1 - confidence) / 2);
  m.high = percentile_of_sorted(drawn, (1 + confidence) / 2);
  return m;
}

}  // namespace hone
