// A metric of evaluated rows with its confidence interval.
#pragma once

#include "operate/registry/evaluation.h"

namespace hone {

struct MetricInterval {
  double value = 0, low = 0, high = 0;
};

// By the metric's name without "eval_"; the interval is that of a bootstrap over the rows
// (learn/metrics/bootstrap.h). Errors: those of row_scores.
Result<MetricInterval> metric_interval(const Evaluation& evaluation, const std::string& metric,
                                       double confidence);

}  // namespace hone
