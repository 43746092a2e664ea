// Computes a metric over any selection of evaluated rows, such as a sample of a bootstrap.
#pragma once

#include <memory>
#include <span>

#include "operate/registry/evaluation.h"

namespace hone {

class RowScores {
 public:
  virtual ~RowScores() = default;
  // The metric over a selection in which row i occurs times[i] times. `times` has one number for each row. Errors:
  // those of the metric.
  virtual Result<double> value(std::span<const int32_t> times) const = 0;
};

// `metric` is a name without the prefix "eval_". `rows` must outlive the result. Error H3144: the rows do not have this
// metric; the error lists the metrics that they have.
Result<std::unique_ptr<RowScores>> row_scores(const std::vector<const EvaluatedRow*>& rows,
                                              const std::string& metric);

}  // namespace hone
