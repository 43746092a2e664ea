// A metric of an evaluation with the interval of its bootstrap.
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

// "interval 0.1 to 0.4, 87 rows", with `digits` significant digits; without a spread, as of one row or of rows that
// are all alike, "the same in all 87 rows": such an interval has no width, and is not to be read as certainty.
std::string interval_text(double low, double high, int64_t rows, int digits);

// Over the rows of the evaluation, drawn with replacement. Errors: H3144 the rows do not have the
// metric.
Result<MetricInterval> metric_interval(const Evaluation& evaluation, const std::string& metric,
                                       const BootstrapOptions& options = {});

}  // namespace hone
