#include "learn/train/loss_scale.h"

#include <algorithm>
#include <cmath>

namespace hone {
namespace {

// Gradients in float16 overflow long before; in float32 a larger scale brings nothing, and the
// scaled loss would overflow.
constexpr double kMostGrown = 18446744073709551616.0;  // 2^64

}  // namespace

LossScale::LossScale(const LossScaleOptions& options)
    : options_(options),
      value_(options.fixed > 0 ? options.fixed
                               : std::ldexp(1.0, static_cast<int>(options.initial_power))),
      overflows_left_(options.hysteresis) {}

void LossScale::step_was_finite() {
  if (!dynamic()) return;
  if (options_.consecutive_hysteresis) overflows_left_ = options_.hysteresis;
  if (++finite_steps_ < options_.window) return;
  finite_steps_ = 0;
  overflows_left_ = options_.hysteresis;
  if (value_ * 2 <= kMostGrown) value_ *= 2;
}

bool LossScale::step_overflowed() {
  if (!dynamic()) return false;
  finite_steps_ = 0;
  if (overflows_left_ > 1) {
    --overflows_left_;
    return true;
  }
  if (value_ <= options_.least) return false;
  value_ = std::max(value_ / 2, options_.least);
  return true;
}

Json LossScale::state() const {
  return {{"value", value_}, {"finite_steps", finite_steps_}, {"overflows_left", overflows_left_}};
}

void LossScale::restore(const Json& state) {
  if (!dynamic() || state.is_null()) return;
  value_ = state.at("value").get<double>();
  finite_steps_ = state.at("finite_steps").get<int64_t>();
  overflows_left_ = std::min(state.at("overflows_left").get<int64_t>(), options_.hysteresis);
}

}  // namespace hone
