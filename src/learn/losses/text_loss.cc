#include "learn/losses/text_loss.h"

#include "learn/losses/similarity.h"

namespace hone {

std::vector<std::string> text_loss_names() {
  std::vector<std::string> names;
  for (const TextLoss& loss : all_text_loss()) names.push_back(loss.name);
  return names;
}

const TextLoss* find_text_loss(const std::string& name) {
  static const std::vector<TextLoss> shelf = all_text_loss();
  for (const TextLoss& loss : shelf)
    if (loss.name == name) return &loss;
  return nullptr;
}

ValueId build_text_loss(Builder& b, const TextLoss& loss, const TextLossInputs& in,
                        const TextLossOptions& o, const Matryoshka& parts) {
  Builder::Scope scope(b, "loss");
  if (parts.dims.empty()) return loss.build(b, in, o);
  ValueId sum = kNoValue;
  for (size_t i = 0; i < parts.dims.size(); ++i) {
    Builder::Scope part(b, std::to_string(parts.dims[i]));
    TextLossInputs first = in;
    for (ValueId& column : first.columns)
      column = unit_rows(b, ops::slice(b, column, 1, 0, parts.dims[i]));
    ValueId one = loss.build(b, first, o);
    if (const double weight = parts.weights.empty() ? 1 : parts.weights[i]; weight != 1)
      one = ops::mul(b, one, scalar(b, weight));
    sum = sum == kNoValue ? one : ops::add(b, sum, one);
  }
  return sum;
}

}  // namespace hone
