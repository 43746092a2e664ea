// A metric over any selection of evaluated rows.
#pragma once

#include <memory>
#include <span>

#include "operate/registry/evaluation.h"

namespace hone {

class RowScores {
 public:
  virtual ~RowScores() = default;
  // The metric if row i occurred times[i] times. Errors: those of the metric.
  virtual Result<double> value(std::span<const int32_t> times) const = 0;
};

// By the metric's name without "eval_". H3144 with the metrics that these rows have.
Result<std::unique_ptr<RowScores>> row_scores(const std::vector<const EvaluatedRow*>& rows,
                                              const std::string& metric);

}  // namespace hone
