// The gated delta rule (arXiv 2412.06464) over packed sequences: the op gated_delta_rule. Value head h has a state M
// [key_dim, value_dim] and uses head h / (heads / key_heads) of the queries and keys. For each token t in order:
//
//   M' = exp(decay_t) M,   u_t = beta_t (v_t - M'^T k_t),   M = M' + k_t u_t^T,   out_t = M^T q_t
//
// M begins as the sequence's state, or as zeros without one. Tokens after the last sequence get zeros. Results do not
// depend on the number of threads; a sequence's results do not depend on the other sequences.
#pragma once

#include <cstdint>

#include "base/core/threads.h"

namespace hone::cpu {

struct GatedDelta {
  int64_t sequences = 0, tokens = 0, heads = 0, key_heads = 0, key_dim = 0, value_dim = 0;
  const int32_t* cu = nullptr;                    // [sequences + 1], first tokens and the end
  const float *q = nullptr, *k = nullptr;         // [tokens, key_heads * key_dim]
  const float* v = nullptr;                       // [tokens, heads * value_dim]
  const float *decay = nullptr, *beta = nullptr;  // [tokens, heads]
  const float* state = nullptr;                   // [sequences, heads, key_dim, value_dim] or null
  float* out = nullptr;                           // [tokens, heads * value_dim]
  // Receives M after the last token of each sequence, in the shape of `state`; may be the same array. Null: not wanted.
  float* state_after = nullptr;
};

struct GatedDeltaBackward {
  GatedDelta forward;  // its state and state_after are null; out is not used
  const float* dout = nullptr;
  float *dq = nullptr, *dk = nullptr, *dv = nullptr, *ddecay = nullptr,
        *dbeta = nullptr;  // overwritten
};

// Workspaces must be 64-byte aligned.
int64_t gated_delta_workspace_bytes(const GatedDelta& a, int threads);
void gated_delta(const GatedDelta& a, void* workspace, ThreadPool& pool);
int64_t gated_delta_backward_workspace_bytes(const GatedDelta& a, int threads);
void gated_delta_backward(const GatedDeltaBackward& b, void* workspace, ThreadPool& pool);

}  // namespace hone::cpu
