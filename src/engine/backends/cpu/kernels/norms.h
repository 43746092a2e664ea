// Layer norm and RMS norm over the rows of f32 matrices [rows, columns] (rows without gaps). Each is fused with a
// residual addition before the norm.
//   layer norm: y = (x - mean) * rstd * gamma + beta,  rstd = 1 / sqrt(var + eps), biased variance
//   rms norm:   y = x * rstd * gamma,                  rstd = 1 / sqrt(mean(x^2) + eps)
// with x = input (+ residual). Statistics are summed in two passes, in f32.
#pragma once

#include <cstdint>

#include "base/core/threads.h"

namespace hone::cpu {

enum class NormKind : int { layer, rms };

struct Norm {
  NormKind kind = NormKind::layer;
  int64_t rows = 0, columns = 0;
  const float* input = nullptr;
  const float* residual = nullptr;  // or null
  float* sum = nullptr;  // receives input + residual; may be one of them. Needed with a residual
  const float* gamma = nullptr;  // [columns]; null: ones
  const float* beta = nullptr;   // [columns]; null: zeros; only for layer norm
  float eps = 1e-5f;
  float* y = nullptr;
  float* mean = nullptr;  // [rows] or null; only for layer norm
  float* rstd = nullptr;  // [rows] or null
};
void norm(const Norm& n, ThreadPool& pool);

struct NormBackward {
  NormKind kind = NormKind::layer;
  int64_t rows = 0, columns = 0;
  const float* x = nullptr;      // the input of the norm, after the residual addition
  const float* gamma = nullptr;  // [columns]; null: ones
  const float* mean = nullptr;   // [rows]; only for layer norm
  const float* rstd = nullptr;   // [rows]
  const float* dy = nullptr;
  const float* dsum = nullptr;  // gradient of x from its other uses, added to dx; or null
  float* dx = nullptr;          // may be dy or dsum
  float* dgamma = nullptr;      // [columns] or null
  float* dbeta = nullptr;       // [columns] or null
};
// dgamma and dbeta are summed in parts of 64 rows, and the parts are added in order, so the bits do not
// depend on the number of threads.
int64_t norm_backward_workspace_bytes(int64_t rows, int64_t columns);
void norm_backward(const NormBackward& n, void* workspace, ThreadPool& pool);

}  // namespace hone::cpu
