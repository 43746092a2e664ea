// Products of few rows of A with a B [n,k] in the blocks of GGUF files. Blocks are dequantized in
// registers: each is read once from memory and not stored in f32. The dequantized numbers are exact; only
// sums are rounded.
#pragma once

#include "engine/backends/cpu/gemm/widen_gguf.simd.h"

namespace hone::cpu::HONE_ISA {
namespace {

// Dot products of R rows of A from row i, packed as [k / W][R][W], with Q rows of B: j, j + step, j + 2 step, ..
template <class Format, int R, int Q>
void block_dots(const Gemm& g, const float* a, int64_t i, int64_t j, int64_t step) {
  constexpr int kGroups = Format::kBlock / kGroup, V = kGroup / W, kTurn = Format::kTurn;
  constexpr int U =
      R == 1 ? 2 : 1;  // partial sums of each product; this number does not depend on Q or threads
  const int64_t blocks = g.k / Format::kBlock, row_bytes = blocks * Format::kBytes;
  const int64_t apart = step * row_bytes;
  const auto* b = static_cast<const uint8_t*>(g.b) + j * row_bytes;
  F acc[R][Q][U];
  unroll<R>(HONE_LAMBDA(r) {
    unroll<Q>(HONE_LAMBDA(q) { unroll<U>(HONE_LAMBDA(u) { acc[r][q][u] = zero(); }); });
  });
  for (int64_t block = 0; block < blocks; ++block, b += Format::kBytes) {
    Format format[Q];
    unroll<Q>(HONE_LAMBDA(q) {
      constexpr int64_t kAhead = 4096, kLine = 64;
      for (int64_t at = 0; at < Format::kBytes; at += kLine)
        __builtin_prefetch(b + q * apart + kAhead + at, 0, kToL2);
      format[q].read(b + q * apart);
    });
    for (int g0 = 0; g0 < kGroups; g0 += kTurn)
      unroll<kTurn>(HONE_LAMBDA(turn) {
        unroll<Q>(HONE_LAMBDA(q) {
          F v[V];
          format[q].group(b + q * apart, g0, turn, v);
          unroll<V>(HONE_LAMBDA(h) {
            unroll<R>(HONE_LAMBDA(r) {
              acc[r][q][h % U] = fma(load(a + (h * R + r) * W), v[h], acc[r][q][h % U]);
            });
          });
        });
        a += kGroup * R;
      });
  }
  unroll<R>(HONE_LAMBDA(r) {
    unroll<Q>(HONE_LAMBDA(q) {
      F sum = acc[r][q][0];
      unroll<U - 1>(HONE_LAMBDA(u) { sum = sum + acc[r][q][u + 1]; });
      float* c = g.c + (i + r) * g.ldc + j + q * step;
      if (i + r < g.m) *c = reduce_add(sum) + (g.accumulate ? *c : 0.0f);
    });
  });
}

// Columns [j0, j1) of C. The Q rows of B that are read at the same time are far apart, as in dot_rows().
template <class Format, int R, int Q>
void block_dot_rows(const Gemm& g, const float* a, int64_t j0, int64_t j1) {
  const int64_t step = (j1 - j0) / Q;
  for (int64_t j = j0; j < j0 + step; ++j)
    for (int64_t i = 0; i < g.m; i += R) block_dots<Format, R, Q>(g, a + i * g.k, i, j, step);
  for (int64_t j = j0 + Q * step; j < j1; ++j)
    for (int64_t i = 0; i < g.m; i += R) block_dots<Format, R, 1>(g, a + i * g.k, i, j, 1);
}

// Columns [j0, j1) of C. group: R, the rows of a group of the packed A.
void block_columns(const Gemm& g, int64_t group, const float* a, int64_t j0, int64_t j1) {
  constexpr bool wide = W == 16;
  with_format(g.blocks->kind, [&](auto format) {
    using Format = decltype(format);
    if (group == 1) return block_dot_rows < Format, 1, wide ? 4 : 2 > (g, a, j0, j1);
    if (group == 2) return block_dot_rows < Format, 2, wide ? 4 : 2 > (g, a, j0, j1);
    if (group == 4) return block_dot_rows < Format, 4, wide ? 3 : 1 > (g, a, j0, j1);
    if constexpr (wide) block_dot_rows<Format, 8, 2>(g, a, j0, j1);
  });
}

}  // namespace
}  // namespace hone::cpu::HONE_ISA
