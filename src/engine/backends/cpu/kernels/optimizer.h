// Optimizer updates over lists of tensors (one call for the whole model), sums of squares, and conversions
// of element types. All is computed in f32. Gradients may be in bf16 or f16. Weights and states may be in
// bf16, with the optimizers that update each element by itself.
#pragma once

#include <cstdint>
#include <span>

#include "base/core/threads.h"
#include "engine/backends/cpu/isa/element.h"
#include "engine/backends/cpu/kernels/round_stochastic.h"

namespace hone::cpu {

// An array of f32, bf16 or f16.
struct Numbers {
  const void* data = nullptr;
  Element type = Element::f32;
};

// Weights and states in bf16. If p is set, p and state replace UpdateTensor::p and UpdateTensor::state.
struct Bf16Update {
  uint16_t* p = nullptr;
  uint16_t* state[3] = {};
  // true: new weights are rounded stochastically, with random numbers of `key`; false: to the nearest.
  bool stochastic = false;
  DropoutKey key = {};
  int64_t first = 0;  // number of the element p[0] in the whole tensor, for the random numbers
};

// One tensor of an update. The weights and the states are updated in place.
struct UpdateTensor {
  float* p = nullptr;    // weights
  Numbers g;             // gradient
  float* state[3] = {};  // the optimizer's states, in the order of its struct below
  int64_t count = 0;     // elements
  double weight_decay = 0;
  Bf16Update bf16 = {};
};

// The numbers of one optimizer step.
struct UpdateStep {
  double lr = 0;
  int64_t step = 1;           // number of this step, from 1
  double gradient_scale = 1;  // factor of every gradient (clipping, averaging)
};

// The optimizers; the formulas are in engine/ops/<name>.cc. Scalars are computed in f64.
struct AdamW {  // states m, v
  double beta1 = 0.9, beta2 = 0.999, eps = 1e-8;
  bool l2 = false;  // true: Adam, whose weight decay is added to the gradient
  // Hugging Face's form: eps is added to sqrt(v) before the bias correction, and weights decay after the step.
  bool huggingface = false;
};
void adamw(std::span<const UpdateTensor> tensors, const AdamW& rule, const UpdateStep& at,
           ThreadPool& pool);

struct Sgd {  // state: the momentum buffer, if momentum is not 0
  double momentum = 0, dampening = 0;
  bool nesterov = false;
};
void sgd(std::span<const UpdateTensor> tensors, const Sgd& rule, const UpdateStep& at,
         ThreadPool& pool);

struct Adagrad {  // state: the sum of squares
  double lr_decay = 0, eps = 1e-10;
};
void adagrad(std::span<const UpdateTensor> tensors, const Adagrad& rule, const UpdateStep& at,
             ThreadPool& pool);

// The states are the mean square; the mean gradient, if centered; and the momentum buffer, if momentum is not 0.
struct Rmsprop {
  double alpha = 0.99, eps = 1e-8, momentum = 0;
  bool centered = false;
};
void rmsprop(std::span<const UpdateTensor> tensors, const Rmsprop& rule, const UpdateStep& at,
             ThreadPool& pool);

struct Lion {  // state: m
  double beta1 = 0.9, beta2 = 0.99;
};
void lion(std::span<const UpdateTensor> tensors, const Lion& rule, const UpdateStep& at,
          ThreadPool& pool);

struct Lamb {  // states m, v
  double beta1 = 0.9, beta2 = 0.999, eps = 1e-6;
  bool trust_clip = false;  // the trust ratio is at most 1
};
int64_t lamb_workspace_bytes(std::span<const UpdateTensor> tensors);
void lamb(std::span<const UpdateTensor> tensors, const Lamb& rule, const UpdateStep& at,
          void* workspace, ThreadPool& pool);

// A tensor [..., R, C] as `matrices` matrices of R rows and C columns. A vector or scalar is one row.
struct AdafactorTensor {
  float* p = nullptr;       // weights, updated in place
  Numbers g;                // gradient
  float* row = nullptr;     // [matrices, R], the state of the rows; null for vectors
  float* column = nullptr;  // [matrices, C], the state of the columns; for a vector: mean squares
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
// sums[i] = the sum of the squares of tensor i, in f64. Blocks of 16,384 elements are summed, and their sums added by a
// binary tree that depends on the tensor's size alone. all_elements: the elements of all tensors together.
int64_t sum_squares_workspace_bytes(int64_t all_elements, int64_t tensors);
void sum_squares(std::span<const TensorView> tensors, double* sums, void* workspace,
                 ThreadPool& pool);

// Conversions between f32 and the bits of bf16 and f16. They round to the nearest, ties to even. NaN stays NaN.
void f32_to_bf16(int64_t count, const float* x, uint16_t* y, ThreadPool& pool);
void bf16_to_f32(int64_t count, const uint16_t* x, float* y, ThreadPool& pool);
void f32_to_f16(int64_t count, const float* x, uint16_t* y, ThreadPool& pool);
void f16_to_f32(int64_t count, const uint16_t* x, float* y, ThreadPool& pool);

}  // namespace hone::cpu
