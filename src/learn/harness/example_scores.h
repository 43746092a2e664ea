// The rows of an evaluation for hone eval --save_examples: prediction, reference and scores. Tasks
// fill it if the settings hold one.
#pragma once

#include <vector>

#include "base/core/json.h"

namespace hone {

// A member with the number of the row in its data, if that is not its number in the evaluation: --max_eval_samples may
// draw rows.
inline constexpr const char* kExampleNumber = "number";

class ExampleScores {
 public:
  // Adds members to row `row` of the evaluation, counted from 0; "scores" is one of them. Later
  // calls add to it.
  void add(int64_t row, const OrderedJson& members);
  // By row. Rows without members are null.
  const std::vector<OrderedJson>& rows() const { return rows_; }

 private:
  std::vector<OrderedJson> rows_;
};

}  // namespace hone
