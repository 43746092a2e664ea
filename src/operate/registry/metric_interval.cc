#include "operate/registry/metric_interval.h"

#include <algorithm>
#include <cmath>

#include "operate/registry/row_scores.h"

namespace hone {

OrderedJson MetricInterval::json() const {
  return {{"metric", metric}, {"value", value}, {"low", low},
          {"high", high},     {"rows", rows},   {"confidence", confidence}};
}

std::string interval_text(double low, double high, int64_t rows, int digits) {
  if (low == high) return rows == 1 ? "one row" : fmt::format("the same in all {} rows", rows);
  return fmt::format("interval {:.{}g} to {:.{}g}, {} rows", low, digits, high, digits, rows);
}

Result<MetricInterval> metric_interval(const Evaluation& evaluation, const std::string& metric,
                                       const BootstrapOptions& options) {
  std::vector<const EvaluatedRow*> rows;
  for (const EvaluatedRow& r : evaluation.rows) rows.push_back(&r);
  const auto scores = HONE_TRY(row_scores(rows, metric));
  std::vector<int32_t> times(rows.size(), 1);
  MetricInterval out;
  out.metric = metric;
  out.value = HONE_TRY(scores->value(times));
  out.rows = std::ssize(rows);
  out.confidence = options.confidence;
  std::vector<double> drawn;
  for (int64_t sample = 0; sample < options.samples; ++sample) {
    draw_examples(options.seed, static_cast<uint64_t>(sample), times);
    if (const double x = HONE_TRY(scores->value(times)); !std::isnan(x)) drawn.push_back(x);
  }
  std::sort(drawn.begin(), drawn.end());
  out.low = percentile_of_sorted(drawn, (1 - options.confidence) / 2);
  out.high = percentile_of_sorted(drawn, (1 + options.confidence) / 2);
  return out;
}

}  // namespace hone
