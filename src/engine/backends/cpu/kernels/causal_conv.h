// Causal depthwise convolution over the tokens of packed sequences (the op causal_conv1d): for token t of a sequence
// and channel c,
//
//   y[t,c] = bias[c] + sum over j in [0, taps) of w[c,j] x[t - (taps - 1) + j, c]
//
// Rows of x before the sequence's first token come from `state`; without a state they are zeros. Tokens after the last
// sequence get zeros. Results do not depend on the number of threads; a sequence's results do not depend on the other
// sequences.
#pragma once

#include <cstdint>

#include "base/core/threads.h"

namespace hone::cpu {

inline constexpr int64_t kMostTaps = 16;

struct CausalConv {
  int64_t sequences = 0, tokens = 0, channels = 0, taps = 0;  // 1 <= taps <= kMostTaps
  const int32_t* cu = nullptr;  // [sequences + 1], the first token of each sequence and the end
  const float *x = nullptr, *w = nullptr;  // x [tokens, channels], w [channels, taps]
  const float* bias = nullptr;             // [channels]; null: zeros
  // [sequences, taps - 1, channels], the rows of x before each sequence, in order; null: zeros.
  const float* state = nullptr;
  float* y = nullptr;  // [tokens, channels]
  // Receives the last taps - 1 rows of x of each sequence, in the shape of `state`. `state` must be given and must be a
  // different array. Null: not wanted.
  float* state_after = nullptr;
};

struct CausalConvBackward {
  CausalConv forward;  // its state and state_after are null; y is not used
  const float* dy = nullptr;
  float *dx = nullptr, *dw = nullptr, *dbias = nullptr;  // overwritten; dbias may be null
};

// Bytes of the workspace of causal_conv() and causal_conv_backward(), which must be 64-byte aligned.
int64_t causal_conv_workspace_bytes(const CausalConv& a);
void causal_conv(const CausalConv& a, void* workspace, ThreadPool& pool);
void causal_conv_backward(const CausalConvBackward& b, void* workspace, ThreadPool& pool);

}  // namespace hone::cpu
