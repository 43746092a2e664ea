// Between optimizer.cc and optimizer.simd.h: the scalars of one AdamW update in f32.
#pragma once

#include "engine/backends/cpu/optimizer.h"

namespace hone::cpu {

struct AdamWScalars {
  float decay;  // 1 - lr * weight_decay
  float one_minus_beta1;
  float beta2, one_minus_beta2;
  float root_correction2;  // sqrt(1 - beta2^t)
  float eps;
  float step_size;  // lr / (1 - beta1^t)
  float gradient_scale;
};

}  // namespace hone::cpu
