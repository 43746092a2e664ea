// Computes a metric of an evaluation and its confidence interval, by a bootstrap over the evaluated rows.
#pragma once

#include "learn/metrics/bootstrap.h"
#include "operate/registry/evaluation.h"

namespace hone {

struct MetricInterval {
  std::string metric;  // without "eval_"
  double value = 0, low = 0, high = 0;
  int64_t rows = 0;
  double confidence = 0;  // confidence level of [low, high], such as 0.95
  OrderedJson json() const;
};

// "interval 0.1 to 0.4, 87 rows", with `digits` significant digits. If low and high are equal, the text is "one row" or
// "the same in all 87 rows", because an interval without width would look like certainty.
std::string interval_text(double low, double high, int64_t rows, int digits);

// Computes a metric and its interval, by drawing rows of the evaluation with replacement. `metric` has no prefix
// "eval_".
// Error H3144: the rows do not have the metric.
Result<MetricInterval> metric_interval(const Evaluation& evaluation, const std::string& metric,
                                       const BootstrapOptions& options = {});

}  // namespace hone
