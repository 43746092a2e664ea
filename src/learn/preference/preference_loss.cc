#include "learn/preference/preference_loss.h"

#include <cmath>

namespace hone {
namespace {

ValueId real(Builder& b, double value) { return ops::constant(b, value, {DType::f32, {}}); }

// min(x, 0) - log(1 + exp(-|x|)). At 0 both halves count x as positive, so that their slopes add up.
ValueId log_sigmoid_of(Builder& b, ValueId x) {
  const ValueId zero = real(b, 0);
  const ValueId size = ops::maximum(b, x, ops::neg(b, x));
  const ValueId tail = ops::log(b, ops::add(b, ops::exp(b, ops::neg(b, size)), real(b, 1)));
  return ops::sub(b, ops::minimum(b, zero, x), tail);
}

}  // namespace

ValueId PreferencePairs::times(ValueId x, double by) const { return ops::mul(b, x, real(b, by)); }
ValueId PreferencePairs::plus(ValueId x, double by) const { return ops::add(b, x, real(b, by)); }
ValueId PreferencePairs::log_sigmoid(ValueId x) const { return log_sigmoid_of(b, x); }

ValueId PreferencePairs::delta_per_token() const {
  const ValueId won = ops::div(b, chosen_score, chosen_tokens);
  return ops::sub(b, won, ops::div(b, rejected_score, rejected_tokens));
}

ValueId PreferencePairs::smoothed(ValueId x) const {
  const double e = o.label_smoothing;
  const ValueId right = times(log_sigmoid(x), e - 1);
  return ops::sub(b, right, times(log_sigmoid(times(x, -1)), e));
}

const PreferenceLoss& find_preference_loss(const std::string& name) {
  static const std::vector<PreferenceLoss> shelf = all_preference_loss();
  for (const PreferenceLoss& loss : shelf)
    if (loss.name == name) return loss;
  HONE_BUG_IF(true, "no preference loss '{}'", name);
  __builtin_unreachable();
}

std::vector<std::string> preference_loss_names() {
  std::vector<std::string> names;
  for (const PreferenceLoss& loss : all_preference_loss()) names.push_back(loss.name);
  return names;
}

std::vector<std::string> divergence_names() {
  return {"reverse_kl", "forward_kl", "js_divergence", "alpha_divergence"};
}

// With t = exp(x), the derivative of the divergence's f at t.
ValueId divergence_score(Builder& b, const PreferenceOptions& o, ValueId x) {
  if (o.divergence == "forward_kl")  // 1 - 1/t
    return ops::sub(b, real(b, 1), ops::exp(b, ops::neg(b, x)));
  if (o.divergence == "js_divergence")  // log(2t / (t + 1))
    return ops::add(b, log_sigmoid_of(b, x), real(b, std::log(2.0)));
  constexpr double kNearlyOne = 1e-6, kLargestExponent = 80;
  if (o.divergence != "alpha_divergence" || std::abs(o.alpha - 1) < kNearlyOne) return x;
  // (t^(a-1) - 1) / (a - 1)
  const ValueId exponent =
      ops::minimum(b, ops::mul(b, x, real(b, o.alpha - 1)), real(b, kLargestExponent));
  return ops::mul(b, ops::sub(b, ops::exp(b, exponent), real(b, 1)), real(b, 1 / (o.alpha - 1)));
}

}  // namespace hone
