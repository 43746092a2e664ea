// Collects prediction, reference and scores of each row of an evaluation, for `hone eval --save_examples`. Tasks add
// them to TaskSettings::example_scores unless this pointer is null.
#pragma once

#include <vector>

#include "base/core/json.h"

namespace hone {

// The name of the member with the number of the row in its data file. A row has this member only if the rows to
// evaluate were chosen at random (--max_eval_samples of some tasks), because this number then differs from the number
// of the row in the evaluation.
inline constexpr const char* kExampleNumber = "number";

class ExampleScores {
 public:
  // Adds members to row `row` of the evaluation, counted from 0. A member replaces an earlier one of the same name. The
  // member "scores" is an object whose members are added to those of an earlier "scores".
  void add(int64_t row, const OrderedJson& members);
  // An object for each row, up to the last row with members; JSON null for a row without members.
  const std::vector<OrderedJson>& rows() const { return rows_; }

 private:
  std::vector<OrderedJson> rows_;
};

}  // namespace hone
