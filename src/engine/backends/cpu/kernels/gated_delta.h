// The gated delta rule (arXiv 2412.06464) over packed sequences, as gated_delta_rule of engine/ops. The head h of
// values has a state M [key_dim, value_dim] and reads head h / (heads / key_heads) of the queries and keys:
//
//   M' = exp(decay_t) M,   u_t = beta_t (v_t - M'^T k_t),   M = M' + k_t u_t^T,   out_t = M^T q_t
//
// token by token from the state of the sequence, or from zeros. Tokens after the last sequence get zeros. Results
// do not depend on the number of threads, nor those of a sequence on the others.
#pragma once

#include <cstdint>

#include "base/core/threads.h"

namespace hone::cpu {

struct GatedDelta {
  int64_t sequences = 0, tokens = 0, heads = 0, key_heads = 0, key_dim = 0, value_dim = 0;
  const int32_t* cu = nullptr;                    // [sequences + 1]
  const float *q = nullptr, *k = nullptr;         // [tokens, key_heads * key_dim]
  const float* v = nullptr;                       // [tokens, heads * value_dim]
  const float *decay = nullptr, *beta = nullptr;  // [tokens, heads]
  const float* state = nullptr;                   // [sequences, heads, key_dim, value_dim] or none
  float* out = nullptr;                           // [tokens, heads * value_dim]
  float* state_after = nullptr;                   // as state, which it may be
};

struct GatedDeltaBackward {
  GatedDelta forward;  // without a state; out is not used
  const float* dout = nullptr;
  float *dq = nullptr, *dk = nullptr, *dv = nullptr, *ddecay = nullptr,
        *dbeta = nullptr;  // written
};

// 64-byte aligned workspaces.
int64_t gated_delta_workspace_bytes(const GatedDelta& a, int threads);
void gated_delta(const GatedDelta& a, void* workspace, ThreadPool& pool);
int64_t gated_delta_backward_workspace_bytes(const GatedDelta& a, int threads);
void gated_delta_backward(const GatedDeltaBackward& b, void* workspace, ThreadPool& pool);

}  // namespace hone::cpu
