// The interface between optimizer*.cc and optimizer*.simd.h: the numbers of an optimizer's formula, computed
// in f64 and rounded to f32, for one tensor and one step.
#pragma once

#include <cstdint>

namespace hone::cpu {

struct AdamW;
struct Bf16Update;
struct Lion;
struct UpdateStep;

// Elements of a bf16 tensor that are widened to f32 on the stack at a time. It is a multiple of the block sizes of
// 8-bit and 4-bit states.
inline constexpr int64_t kWidened = 2048;
// Convert between bits of bf16 and f32 on the calling thread; narrow_bf16() rounds to the nearest, ties to even.
void widen_bf16(int64_t count, const uint16_t* x, float* y);
void narrow_bf16(int64_t count, const float* x, uint16_t* y);
// Rounds `count` new weights to bf16, at random if to.stochastic is set, else to the nearest, and writes them into to.p
// from element `at` on. p: the first of these new weights.
void round_weights(const Bf16Update& to, const UpdateStep& step, int64_t at, int64_t count,
                   const float* p);

inline float f32(double x) { return static_cast<float>(x); }

struct AdamWScalars {
  float decay;  // AdamW: 1 - lr * weight_decay; with AdamW::l2 it is 1
  float l2;     // weight_decay with AdamW::l2, else 0
  float one_minus_beta1;
  float beta2, one_minus_beta2;
  float root_correction2;  // sqrt(1 - beta2^t)
  float eps;               // with AdamW::huggingface: AdamW::eps / root_correction2
  float step_size;         // lr / (1 - beta1^t), with AdamW::huggingface times `decay`
  float gradient_scale;
};

AdamWScalars scalars_of(const AdamW& rule, const UpdateStep& at, double weight_decay);

struct SgdScalars {
  float gradient_scale, l2, momentum;
  float fresh;  // factor of the gradient in the momentum buffer
  float nesterov;
  float lr;
};

struct AdagradScalars {
  float gradient_scale, l2, rate, eps;
};

struct RmspropScalars {
  float gradient_scale, l2, alpha, one_minus_alpha, eps, momentum, lr;
  bool centered, has_buffer;
};

struct LionScalars {
  float gradient_scale, decay, beta1, one_minus_beta1, beta2, one_minus_beta2, lr;
};
LionScalars scalars_of(const Lion& rule, const UpdateStep& at, double weight_decay);

struct LambScalars {
  float gradient_scale, one_minus_beta1, beta2, one_minus_beta2;
  float correction1, root_correction2, eps, decay;
};

}  // namespace hone::cpu
