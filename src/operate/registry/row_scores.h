// A metric of evaluated rows, for any choice of them.
#pragma once

#include <memory>
#include <span>

#include "operate/registry/evaluation.h"

namespace hone {

class RowScores {
 public:
  virtual ~RowScores() = default;
  // If row i had been there times[i] times. Errors: those of the metric.
  virtual Result<double> value(std::span<const int32_t> times) const = 0;
};

// By the name of the metric without "eval_". H3144 with the names that these rows have.
Result<std::unique_ptr<RowScores>> row_scores(const std::vector<const EvaluatedRow*>& rows,
                                              const std::string& metric);

}  // namespace hone
