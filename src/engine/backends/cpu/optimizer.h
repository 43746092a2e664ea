// Kernels over lists of f32 tensors (one call for the whole model), and conversions of storage.
#pragma once

#include <cstdint>
#include <span>

#include "base/core/threads.h"

namespace hone::cpu {

struct AdamWTensor {
  float* p = nullptr;
  const float* g = nullptr;
  float *m = nullptr, *v = nullptr;
  int64_t count = 0;
  double weight_decay = 0;
};
struct AdamWStep {
  double lr = 0, beta1 = 0.9, beta2 = 0.999, eps = 1e-8;
  int64_t step = 1;          // t of this update, from 1
  float gradient_scale = 1;  // multiplies every gradient first (clipping, averaging)
};
// torch.optim.AdamW: p *= 1 - lr wd; m += (1 - b1)(g - m); v = b2 v + (1 - b2) g g;
// p -= lr / (1 - b1^t) * m / (sqrt(v) / sqrt(1 - b2^t) + eps), scalars computed in f64.
void adamw(std::span<const AdamWTensor> tensors, const AdamWStep& step, ThreadPool& pool);

struct TensorView {
  const float* data = nullptr;
  int64_t count = 0;
};
// Sum of squares of all elements in f64, the same bits for every thread count.
int64_t sum_squares_workspace_bytes(int64_t all_elements, int64_t tensors);
double sum_squares(std::span<const TensorView> tensors, void* workspace, ThreadPool& pool);

// Round to nearest even; bf16 and f16 as their bits. NaN stays NaN.
void f32_to_bf16(int64_t count, const float* x, uint16_t* y, ThreadPool& pool);
void bf16_to_f32(int64_t count, const uint16_t* x, float* y, ThreadPool& pool);
void f32_to_f16(int64_t count, const float* x, uint16_t* y, ThreadPool& pool);
void f16_to_f32(int64_t count, const uint16_t* x, float* y, ThreadPool& pool);

}  // namespace hone::cpu
