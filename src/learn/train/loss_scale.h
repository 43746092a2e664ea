// The loss scale: a factor that keeps small gradients inside the range of float16 (Micikevicius et al., "Mixed
// Precision Training", ICLR 2018). The loss and so every gradient is multiplied by the scale; the update divides by it
// before it computes the norm. A dynamic scale is halved after a step that overflows, and doubled after a window of
// steps without an overflow, as in PyTorch's GradScaler and, with a hysteresis and a smallest value, in DeepSpeed's
// DynamicLossScaler. A scale that is a power of two changes no bits of the results unless a value leaves the range of
// its type.
#pragma once

#include <cstdint>

#include "base/core/json.h"

namespace hone {

struct LossScaleOptions {
  double fixed = 0;            // a fixed scale; 0: the scale is dynamic
  int64_t initial_power = 16;  // the dynamic scale starts at 2^initial_power
  int64_t window = 2000;       // steps without an overflow after which the scale is doubled
  int64_t hysteresis = 1;  // overflows until the scale is halved; each later one halves it again
  // True: each step without an overflow restarts this count of overflows. False: only doubling the scale restarts it.
  bool consecutive_hysteresis = false;
  double least = 1e-4;  // the smallest dynamic scale
};

class LossScale {
 public:
  explicit LossScale(const LossScaleOptions& options);
  double value() const { return value_; }
  bool dynamic() const { return options_.fixed == 0; }

  // Call this after a step whose gradients are finite.
  void step_was_finite();
  // Call this after a step whose gradients are not finite. False: the scale cannot be lowered, because it is fixed or
  // the smallest.
  bool step_overflowed();

  // The state for a checkpoint. restore() does nothing for null or if the scale is fixed. It throws Json::exception
  // for a value that state() did not write.
  Json state() const;
  void restore(const Json& state);

 private:
  LossScaleOptions options_;
  double value_;
  int64_t finite_steps_ = 0;  // since the last overflow or doubling
  int64_t overflows_left_;    // overflows until the scale is halved, the last one included
};

}  // namespace hone
