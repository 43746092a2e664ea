// The loss scale: a factor that keeps small gradients inside the range of float16 (Micikevicius et al., "Mixed
// Precision Training", ICLR 2018). The loss is multiplied by the scale, and so is every gradient; the update divides
// the gradients by the scale before it computes their norm. A step overflows if a gradient is not finite. A dynamic
// scale is halved after a step that overflows, and doubled after `window` steps without an overflow, as in PyTorch's
// GradScaler. The options hysteresis and least are those of DeepSpeed's DynamicLossScaler. A scale that is a power of
// two changes no bits of the results unless a value leaves the range of its type.
#pragma once

#include <cstdint>

#include "base/core/json.h"

namespace hone {

struct LossScaleOptions {
  double fixed = 0;            // a fixed scale; 0: the scale is dynamic
  int64_t initial_power = 16;  // the dynamic scale starts at 2^initial_power
  // Number of steps without an overflow after which the scale is doubled.
  int64_t window = 2000;
  // The number of the overflow that first halves the scale: 1: the first one. Each later overflow halves it again,
  // until the count of overflows restarts at 0.
  int64_t hysteresis = 1;
  // When the count of overflows restarts. True: at each step without an overflow, and when `window` steps are complete.
  // False: only when `window` steps are complete.
  bool consecutive_hysteresis = false;
  double least = 1e-4;  // the smallest dynamic scale; halving stops there
};

class LossScale {
 public:
  explicit LossScale(const LossScaleOptions& options);
  double value() const { return value_; }
  bool dynamic() const { return options_.fixed == 0; }

  // Call this after a step whose gradients are finite.
  void step_was_finite();
  // Call this after a step whose gradients are not finite. Halves the scale unless the hysteresis prevents it. Returns
  // false if the scale cannot become smaller, because it is fixed or has the value `least`; otherwise true.
  bool step_overflowed();

  // The state for a checkpoint. restore() sets it; it does nothing if the scale is fixed or the state is null. It
  // throws Json::exception if the value is not a result of state().
  Json state() const;
  void restore(const Json& state);

 private:
  LossScaleOptions options_;
  double value_;
  int64_t finite_steps_ = 0;  // steps since the last overflow or the end of the last window
  int64_t overflows_left_;    // overflows until the scale is halved; 1: the next one halves it
};

}  // namespace hone
