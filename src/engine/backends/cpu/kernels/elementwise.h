// Elementwise f32 kernels, the column sum (gradient of a bias) and dropout. Unless said otherwise
// an output may be the same buffer as an input, and results do not depend on the thread count.
#pragma once

#include <cstdint>

#include "base/core/philox.h"
#include "base/core/threads.h"
#include "engine/backends/cpu/gemm/gemm.h"

namespace hone::cpu {

// y = act(x); dx = dy act'(x) with x the input of the activation.
// The op's name and the functor that computes it.
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
void unary(Unary op, int64_t count, const float* x, float* y, ThreadPool& pool);
void unary_backward(Unary op, int64_t count, const float* x, const float* dy, float* dx,
                    ThreadPool& pool);

// y = act(a) * b over [rows, columns]; leading dimensions let a and b be halves of one buffer.
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
  Gate forward;  // y is ignored
  const float* dy = nullptr;
  int64_t lddy = 0;
  float *da = nullptr, *db = nullptr;
  int64_t ldda = 0, lddb = 0;
};
void gate_backward(const GateBackward& g, ThreadPool& pool);

void add(int64_t count, const float* a, const float* b, float* y, ThreadPool& pool);
void mul(int64_t count, const float* a, const float* b, float* y, ThreadPool& pool);
void scale(int64_t count, float factor, const float* x, float* y, ThreadPool& pool);
void axpy(int64_t count, float factor, const float* x, float* y,
          ThreadPool& pool);  // y += factor x
void add_bias(int64_t rows, int64_t columns, const float* x, const float* bias, float* y,
              ThreadPool& pool);
void fill(int64_t count, float value, float* y, ThreadPool& pool);

// out[j] (=|+=) sum over rows of x[i * ldx + j].
void column_sum(int64_t rows, int64_t columns, const float* x, int64_t ldx, bool accumulate,
                float* out, ThreadPool& pool);

// y = keep ? x / (1 - p) : 0, plus residual. Masks: dropout_word(key, sample_ids[row],
// positions[row], column) of base/core/philox.h. Backward is the same call on dy.
struct Dropout {
  int64_t rows = 0, columns = 0;
  const float* x = nullptr;
  const float* residual = nullptr;  // or none
  float* y = nullptr;
  double p = 0;
  DropoutKey key = {};
  const int64_t* sample_ids = nullptr;  // [rows]
  const int32_t* positions = nullptr;   // [rows]
};
void dropout(const Dropout& d, ThreadPool& pool);

}  // namespace hone::cpu
