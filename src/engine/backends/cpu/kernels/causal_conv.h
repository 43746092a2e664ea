// Filters of channels over the tokens of packed sequences (causal_conv1d of engine/ops): for token t of a
// sequence and channel c,
//
//   y[t,c] = bias[c] + sum_j w[c,j] x[t - (taps - 1) + j, c]
//
// over the tokens of the sequence, and before them over the rows of its state. Tokens after the last sequence
// get zeros. Results do not depend on the number of threads, nor those of a sequence on the others.
#pragma once

#include <cstdint>

#include "base/core/threads.h"

namespace hone::cpu {

inline constexpr int64_t kMostTaps = 16;

struct CausalConv {
  int64_t sequences = 0, tokens = 0, channels = 0, taps = 0;  // 1 <= taps <= kMostTaps
  const int32_t* cu = nullptr;                                // [sequences + 1]
  const float *x = nullptr, *w = nullptr;  // [tokens, channels], [channels, taps]
  const float* bias = nullptr;             // [channels] or none
  const float* state = nullptr;            // [sequences, taps - 1, channels] or none: zeros
  float* y = nullptr;                      // [tokens, channels]
  float* state_after = nullptr;            // as state; not state itself
};

struct CausalConvBackward {
  CausalConv forward;  // without a state; y is not used
  const float* dy = nullptr;
  float *dx = nullptr, *dw = nullptr, *dbias = nullptr;  // written; dbias may be null
};

// Bytes of the 64-byte aligned workspace that both take.
int64_t causal_conv_workspace_bytes(const CausalConv& a);
void causal_conv(const CausalConv& a, void* workspace, ThreadPool& pool);
void causal_conv_backward(const CausalConvBackward& b, void* workspace, ThreadPool& pool);

}  // namespace hone::cpu
