// Collects the rows of an evaluation for `hone eval --save_examples`: prediction, reference and scores of each. Tasks
// fill TaskSettings::example_scores unless it is null.
#pragma once

#include <vector>

#include "base/core/json.h"

namespace hone {

// The member with the row's number in its data file. It is present only if that number differs from the row's number in
// the evaluation, because --max_eval_samples has drawn rows at random.
inline constexpr const char* kExampleNumber = "number";

class ExampleScores {
 public:
  // Adds members to row `row` of the evaluation, counted from 0, and replaces members of the same name. The member
  // "scores" is an object: later calls add to it.
  void add(int64_t row, const OrderedJson& members);
  // One object for each row; null for a row without members.
  const std::vector<OrderedJson>& rows() const { return rows_; }

 private:
  std::vector<OrderedJson> rows_;
};

}  // namespace hone
