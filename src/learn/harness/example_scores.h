// What an evaluation says of each row, for hone eval --save_examples: what was predicted, what was wanted,
// and the row's own scores. Tasks add to it where the settings hold one.
#pragma once

#include <vector>

#include "base/core/json.h"

namespace hone {

class ExampleScores {
 public:
  // Row `row` of the evaluation, from 0: its members, among them "scores"; a later call adds to those.
  void add(int64_t row, const OrderedJson& members);
  // By row. Rows that nothing was added for are null.
  const std::vector<OrderedJson>& rows() const { return rows_; }

 private:
  std::vector<OrderedJson> rows_;
};

}  // namespace hone
