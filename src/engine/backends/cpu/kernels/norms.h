// Layer norm and RMS norm over the rows of [rows, columns] f32 matrices (dense rows), with the
// residual addition that precedes them fused in.
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
  const float* residual = nullptr;  // or none
  float* sum = nullptr;             // input + residual; needed with residual, may be either of them
  const float* gamma = nullptr;     // [columns], none = 1
  const float* beta = nullptr;      // [columns], none = 0; layer norm only
  float eps = 1e-5f;
  float* y = nullptr;
  float* mean = nullptr;  // [rows], layer norm; may be none
  float* rstd = nullptr;  // [rows], may be none
};
void norm(const Norm& n, ThreadPool& pool);

struct NormBackward {
  NormKind kind = NormKind::layer;
  int64_t rows = 0, columns = 0;
  const float* x = nullptr;  // the normalised input: the sum
  const float* gamma = nullptr;
  const float* mean = nullptr;  // layer norm
  const float* rstd = nullptr;
  const float* dy = nullptr;
  const float* dsum =
      nullptr;              // gradient that reaches x on the residual path, added to dx; or none
  float* dx = nullptr;      // may be dy or dsum
  float* dgamma = nullptr;  // [columns] or none
  float* dbeta = nullptr;   // [columns] or none
};
// dgamma and dbeta are summed in leaves of 64 rows, and the leaves in their order: the same bits
// for every number of threads.
int64_t norm_backward_workspace_bytes(int64_t rows, int64_t columns);
void norm_backward(const NormBackward& n, void* workspace, ThreadPool& pool);

}  // namespace hone::cpu
