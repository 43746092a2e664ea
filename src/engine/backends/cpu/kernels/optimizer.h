// Kernels over lists of tensors (one call for the whole model), and conversions of storage.
// Gradients may be kept in bf16 or f16, and what the rules for single elements update in bf16; all
// is computed in f32.
#pragma once

#include <cstdint>
#include <span>

#include "base/core/threads.h"
#include "engine/backends/cpu/isa/element.h"
#include "engine/backends/cpu/kernels/round_stochastic.h"

namespace hone::cpu {

// Numbers that are kept as `type`: f32, bf16 or f16.
struct Numbers {
  const void* data = nullptr;
  Element type = Element::f32;
};

// A tensor that is updated and kept in bf16: in place of the pointers to f32.
struct Bf16Update {
  uint16_t* p = nullptr;
  uint16_t* state[3] = {};
  bool stochastic = false;  // p' is rounded at random, by `key`; else to the nearest
  DropoutKey key = {};
  int64_t first = 0;  // where p begins in its tensor
};

// One tensor of an update and what its rule keeps for it, in the order of the op's lists.
struct UpdateTensor {
  float* p = nullptr;
  Numbers g;
  float* state[3] = {};
  int64_t count = 0;
  double weight_decay = 0;
  Bf16Update bf16 = {};
};

// When and how strongly. `step` is that of this update, from 1; gradient_scale multiplies every
// gradient first (clipping, averaging).
struct UpdateStep {
  double lr = 0;
  int64_t step = 1;
  double gradient_scale = 1;
};

// The rules, by the formulas of engine/ops/<rule>.cc; scalars are computed in f64.
struct AdamW {  // states m, v
  double beta1 = 0.9, beta2 = 0.999, eps = 1e-8;
  bool l2 = false;           // Adam: weight decay is part of the gradient
  bool huggingface = false;  // eps beside the biased root, decay at last
};
void adamw(std::span<const UpdateTensor> tensors, const AdamW& rule, const UpdateStep& at,
           ThreadPool& pool);

struct Sgd {  // state buffer when momentum is not 0
  double momentum = 0, dampening = 0;
  bool nesterov = false;
};
void sgd(std::span<const UpdateTensor> tensors, const Sgd& rule, const UpdateStep& at,
         ThreadPool& pool);

struct Adagrad {  // state sum
  double lr_decay = 0, eps = 1e-10;
};
void adagrad(std::span<const UpdateTensor> tensors, const Adagrad& rule, const UpdateStep& at,
             ThreadPool& pool);

struct Rmsprop {  // states square, mean when centered, buffer when momentum is not 0
  double alpha = 0.99, eps = 1e-8, momentum = 0;
  bool centered = false;
};
void rmsprop(std::span<const UpdateTensor> tensors, const Rmsprop& rule, const UpdateStep& at,
             ThreadPool& pool);

struct Lion {  // state m
  double beta1 = 0.9, beta2 = 0.99;
};
void lion(std::span<const UpdateTensor> tensors, const Lion& rule, const UpdateStep& at,
          ThreadPool& pool);

struct Lamb {  // states m, v
  double beta1 = 0.9, beta2 = 0.999, eps = 1e-6;
  bool trust_clip = false;
};
int64_t lamb_workspace_bytes(std::span<const UpdateTensor> tensors);
void lamb(std::span<const UpdateTensor> tensors, const Lamb& rule, const UpdateStep& at,
          void* workspace, ThreadPool& pool);

// A tensor [..., R, C] as matrices; a vector or scalar is one row without a row state.
struct AdafactorTensor {
  float* p = nullptr;
  Numbers g;
  float* row = nullptr;     // [matrices, R], none for vectors
  float* column = nullptr;  // [matrices, C]; of vectors the state square
  int64_t matrices = 1, rows = 1, columns = 0;
  double weight_decay = 0;
};
struct Adafactor {
  double eps = 1e-30, clip_threshold = 1, decay_rate = -0.8;
};
int64_t adafactor_workspace_bytes(std::span<const AdafactorTensor> tensors);
void adafactor(std::span<const AdafactorTensor> tensors, const Adafactor& rule,
               const UpdateStep& at, void* workspace, ThreadPool& pool);

struct TensorView {
  Numbers data;
  int64_t count = 0;
};
// sums[i] = the sum of the squares of tensor i, in f64: blocks of 16,384 elements, joined in pairs
// by a tree that depends on the tensor's size only.
int64_t sum_squares_workspace_bytes(int64_t all_elements, int64_t tensors);
void sum_squares(std::span<const TensorView> tensors, double* sums, void* workspace,
                 ThreadPool& pool);

// Round to nearest even; bf16 and f16 as their bits. NaN stays NaN.
void f32_to_bf16(int64_t count, const float* x, uint16_t* y, ThreadPool& pool);
void bf16_to_f32(int64_t count, const uint16_t* x, float* y, ThreadPool& pool);
void f32_to_f16(int64_t count, const float* x, uint16_t* y, ThreadPool& pool);
void f16_to_f32(int64_t count, const uint16_t* x, float* y, ThreadPool& pool);

}  // namespace hone::cpu
