// Causal depthwise convolution. Vector lanes are channels, so the weights are first transposed to [taps][channels].
#include "engine/backends/cpu/isa/simd.h"
#include "engine/backends/cpu/kernels/causal_conv.h"

namespace hone::cpu::HONE_ISA {
namespace {

void turn_taps(const CausalConv& a, float* turned) {
  for (int64_t c = 0; c < a.channels; ++c)
    for (int64_t j = 0; j < a.taps; ++j) turned[j * a.channels + c] = a.w[c * a.taps + j];
}

// Calls f(t, s) for each token t in [begin, end). s: the token's sequence; a.sequences for tokens after the last
// sequence.
template <class Fn>
HONE_INLINE void for_tokens(const CausalConv& a, int64_t begin, int64_t end, Fn&& f) {
  int64_t s = 0;
  for (int64_t t = begin; t < end; ++t) {
    while (s < a.sequences && a.cu[s + 1] <= t) ++s;
    f(t, s);
  }
}

// y = bias + the sum over j in [first, count) of rows[j] * the weights of tap j, for a row of channels. turned: the
// weights [taps][channels].
HONE_INLINE void add_taps(const float* const* rows, const float* turned, const float* bias,
                          int64_t first, int64_t count, int64_t channels, float* y) {
  for_vectors(
      0, channels, HONE_VECTOR {
        F sum = bias ? get(bias + i, whole, n) : zero();
        for (int64_t j = first; j < count; ++j)
          sum = fma(get(rows[j] + i, whole, n), get(turned + j * channels + i, whole, n), sum);
        put(y + i, sum, whole, n);
      });
}

void copy_states(const CausalConv& a) {
  const int64_t before = a.taps - 1, C = a.channels;
  for (int64_t s = 0; s < a.sequences; ++s)
    for (int64_t i = 0; i < before; ++i) {
      const int64_t t = a.cu[s + 1] - before + i, from = i + a.cu[s + 1] - a.cu[s];
      const float* row = t >= a.cu[s] ? a.x + t * C : a.state + (s * before + from) * C;
      memcpy(a.state_after + (s * before + i) * C, row, static_cast<size_t>(C) * sizeof(float));
    }
}

}  // namespace

void causal_conv(const CausalConv& a, void* workspace, ThreadPool& pool) {
  const int64_t C = a.channels, before = a.taps - 1;
  auto* turned = static_cast<float*>(workspace);
  turn_taps(a, turned);
  parallel_items(pool, a.tokens, C * a.taps, [&](int64_t begin, int64_t end, int) {
    for_tokens(a, begin, end, [&](int64_t t, int64_t s) {
      const float* rows[kMostTaps] = {};
      int64_t first = a.taps;
      for (int64_t j = a.taps; s < a.sequences && j-- > 0;) {
        const int64_t from = t - before + j, early = from - a.cu[s];
        if (early < 0 && !a.state) break;
        rows[j] = early >= 0 ? a.x + from * C : a.state + (s * before + before + early) * C;
        first = j;
      }
      add_taps(rows, turned, s < a.sequences ? a.bias : nullptr, first, a.taps, C, a.y + t * C);
    });
  });
  if (a.state_after) copy_states(a);
}

void causal_conv_backward(const CausalConvBackward& b, void* workspace, ThreadPool& pool) {
  const CausalConv& a = b.forward;
  const int64_t C = a.channels, before = a.taps - 1;
  auto* turned = static_cast<float*>(workspace);
  float* sums = turned + a.taps * C;  // dw as [taps][channels]
  turn_taps(a, turned);
  parallel_items(pool, a.tokens, C * a.taps, [&](int64_t begin, int64_t end, int) {
    for_tokens(a, begin, end, [&](int64_t t, int64_t s) {
      const float* rows[kMostTaps] = {};
      int64_t first = a.taps;
      for (int64_t j = a.taps; s < a.sequences && j-- > 0;) {
        const int64_t from = t + before - j;
        if (from >= a.cu[s + 1]) break;
        rows[j] = b.dy + from * C;
        first = j;
      }
      add_taps(rows, turned, nullptr, first, a.taps, C, b.dx + t * C);
    });
  });
  // Each thread sums its channels over all tokens, in the order of the tokens.
  const int64_t last = a.cu[a.sequences] < a.tokens ? a.cu[a.sequences] : a.tokens;
  parallel_items(pool, (C + W - 1) / W, last * a.taps * W, [&](int64_t first, int64_t end, int) {
    const int64_t from = first * W, to = min_of(end * W, C);
    for (int64_t j = 0; j < a.taps; ++j)
      memset(sums + j * C + from, 0, static_cast<size_t>(to - from) * sizeof(float));
    if (b.dbias) memset(b.dbias + from, 0, static_cast<size_t>(to - from) * sizeof(float));
    for_tokens(a, 0, last, [&](int64_t t, int64_t s) {
      const float* dy = b.dy + t * C;
      for (int64_t j = a.taps; j-- > 0 && t - before + j >= a.cu[s];) {
        const float* x = a.x + (t - before + j) * C;
        float* sum = sums + j * C;
        for_vectors(
            from, to, HONE_VECTOR {
              put(sum + i, fma(get(x + i, whole, n), get(dy + i, whole, n), get(sum + i, whole, n)),
                  whole, n);
            });
      }
      if (!b.dbias) return;
      for_vectors(
          from, to, HONE_VECTOR {
            put(b.dbias + i, get(b.dbias + i, whole, n) + get(dy + i, whole, n), whole, n);
          });
    });
    for (int64_t c = from; c < to; ++c)
      for (int64_t j = 0; j < a.taps; ++j) b.dw[c * a.taps + j] = sums[j * C + c];
  });
}

}  // namespace hone::cpu::HONE_ISA
