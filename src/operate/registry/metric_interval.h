// A metric of an evaluation with its confidence interval, by a bootstrap over the rows.
#pragma once

#include "learn/metrics/bootstrap.h"
#include "operate/registry/evaluation.h"

namespace hone {

struct MetricInterval {
  std::string metric;  // without "eval_"
  double value = 0, low = 0, high = 0;
  int64_t rows = 0;
  double confidence = 0;
  OrderedJson json() const;
};

// "interval 0.1 to 0.4, 87 rows", with `digits` significant digits. If low and high are equal, "one row" or "the same
// in all 87 rows", because an interval without width would look like certainty.
std::string interval_text(double low, double high, int64_t rows, int digits);

// Computes a metric, without the prefix "eval_", and its interval, by drawing rows of the evaluation with replacement.
// Error H3144: the rows do not have the metric.
Result<MetricInterval> metric_interval(const Evaluation& evaluation, const std::string& metric,
                                       const BootstrapOptions& options = {});

}  // namespace hone
