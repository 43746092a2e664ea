#include "learn/harness/example_scores.h"

namespace hone {

void ExampleScores::add(int64_t row, const OrderedJson& members) {
  const auto at = static_cast<size_t>(row);
  if (at >= rows_.size()) rows_.resize(at + 1);
  for (const auto& [key, value] : members.items()) {
    if (key == "scores" && rows_[at].contains(key))
      rows_[at][key].update(value);
    else
      rows_[at][key] = value;
  }
}

}  // namespace hone
