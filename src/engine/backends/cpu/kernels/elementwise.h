// Elementwise f32 kernels, the sum over rows (the gradient of a bias), and dropout. An output may be the
// same buffer as an input. Results do not depend on the number of threads.
#pragma once

#include <cstdint>

#include "base/core/philox.h"
#include "base/core/threads.h"
#include "engine/backends/cpu/gemm/gemm.h"

namespace hone::cpu {

// The activations: for each the op's name, and the functor of gemm/activation.simd.h that computes it.
#define HONE_UNARY(X)    \
  X(gelu_tanh, GeluTanh) \
  X(gelu, GeluErf)       \
  X(silu, Silu)          \
  X(relu, Relu)
#define HONE_NAME(name, functor) name,
enum class Unary : int { HONE_UNARY(HONE_NAME) };
#undef HONE_NAME
#define HONE_NAME(name, functor) #name,
inline constexpr const char* kUnaryNames[] = {HONE_UNARY(HONE_NAME)};
#undef HONE_NAME
// y = act(x).
void unary(Unary op, int64_t count, const float* x, float* y, ThreadPool& pool);
// dx = dy * act'(x). x: the input of the activation.
void unary_backward(Unary op, int64_t count, const float* x, const float* dy, float* dx,
                    ThreadPool& pool);

// y = act(a) * b over [rows, columns]. The leading dimensions (lda, ldb, ldy) are in elements. a and b may be the left
// and the right half of one matrix.
struct Gate {
  Unary op = Unary::silu;
  int64_t rows = 0, columns = 0;
  const float *a = nullptr, *b = nullptr;
  int64_t lda = 0, ldb = 0;
  float* y = nullptr;
  int64_t ldy = 0;
};
void gate(const Gate& g, ThreadPool& pool);
struct GateBackward {
  Gate forward;  // its y and ldy are ignored
  const float* dy = nullptr;
  int64_t lddy = 0;
  float *da = nullptr, *db = nullptr;
  int64_t ldda = 0, lddb = 0;
};
void gate_backward(const GateBackward& g, ThreadPool& pool);

// y = a + b; y = a * b; y = factor * x.
void add(int64_t count, const float* a, const float* b, float* y, ThreadPool& pool);
void mul(int64_t count, const float* a, const float* b, float* y, ThreadPool& pool);
void scale(int64_t count, float factor, const float* x, float* y, ThreadPool& pool);
void axpy(int64_t count, float factor, const float* x, float* y,
          ThreadPool& pool);  // y += factor x
// y = x + bias, with x and y [rows, columns], bias [columns].
void add_bias(int64_t rows, int64_t columns, const float* x, const float* bias, float* y,
              ThreadPool& pool);
void fill(int64_t count, float value, float* y, ThreadPool& pool);

// out[j] = the sum over rows i of x[i * ldx + j]; accumulate: the sum is added to out[j].
void column_sum(int64_t rows, int64_t columns, const float* x, int64_t ldx, bool accumulate,
                float* out, ThreadPool& pool);

// y = (keep ? x / (1 - p) : 0) + residual. keep is decided by dropout_word(key, sample_ids[row], positions[row],
// column) of base/core/philox.h. The gradient is the same call with dy as x.
struct Dropout {
  int64_t rows = 0, columns = 0;
  const float* x = nullptr;
  const float* residual = nullptr;  // null: zeros
  float* y = nullptr;
  double p = 0;
  DropoutKey key = {};
  const int64_t* sample_ids = nullptr;  // [rows]
  const int32_t* positions = nullptr;   // [rows]
};
void dropout(const Dropout& d, ThreadPool& pool);

}  // namespace hone::cpu
