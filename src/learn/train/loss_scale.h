// The factor of the loss that keeps small gradients inside the range of float16 (Micikevicius et
// al., "Mixed Precision Training", ICLR 2018). The loss is multiplied by it, so every gradient is;
// the update divides by it before it takes the norm. The dynamic scale equals that of PyTorch's
// GradScaler and, with a hysteresis and a smallest value, of DeepSpeed's DynamicLossScaler after
// the same overflows: halved by an overflow, doubled after a window of steps without one. All its
// values are powers of two, so it changes no bit unless a value leaves the range of its type.
#pragma once

#include <cstdint>

#include "base/core/json.h"

namespace hone {

struct LossScaleOptions {
  double fixed = 0;  // 0: dynamic
  int64_t initial_power = 16;
  int64_t window = 2000;  // steps
  int64_t hysteresis = 1;
  bool consecutive_hysteresis = false;
  double least = 1e-4;
};

class LossScale {
 public:
  explicit LossScale(const LossScaleOptions& options);
  double value() const { return value_; }
  bool dynamic() const { return options_.fixed == 0; }

  // After a step whose gradients are finite.
  void step_was_finite();
  // Call after a step whose gradients are not finite. False: the scale cannot be lowered; it is
  // fixed or the smallest.
  bool step_overflowed();

  // For a checkpoint. restore() ignores null and throws Json::exception for anything that state()
  // did not write; a fixed scale keeps its setting.
  Json state() const;
  void restore(const Json& state);

 private:
  LossScaleOptions options_;
  double value_;
  int64_t finite_steps_ = 0;  // since the last overflow or doubling
  int64_t overflows_left_;    // including the one that halves
};

}  // namespace hone
