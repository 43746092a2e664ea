// Tiles in f32 (`Tiles` of gemm_blocks.simd.h). A is packed in panels [k][kMR], B in panels [k][kNR].
#pragma once

#include "engine/backends/cpu/gemm/gemm_blocks.simd.h"

namespace hone::cpu::HONE_ISA {
namespace {

#if defined(__AVX512F__)
constexpr int kMR = 8, kNV = 3;
#elif defined(__AVX2__)
constexpr int kMR = 4, kNV = 3;
#else
constexpr int kMR = 4, kNV = 2;
#endif
constexpr int kNR = kNV * W;
constexpr int64_t kPad = 48;  // a multiple of every kNR: sizes do not depend on the instruction set
static_assert(kPad % kNR == 0 && W % kMR == 0);

// ---- packing -------------------------------------------------------------------------------

// The matrix A of a product in f32.
HONE_INLINE const float* floats_of_a(const Gemm& g) { return static_cast<const float*>(g.a); }

// Packs rows [i0, i0 + rows) and columns [k0, k0 + kc) of op(A) into panels [ceil(rows / kMR)][kc][kMR]. Rows after the
// last one are 0.
template <class T>
void pack_a_panels(const Gemm& g, const T* a, int64_t i0, int64_t rows, int64_t k0, int64_t kc,
                   float* out) {
  if (g.trans_a) {  // A is [k][m]: eight k at a time, so that reads and writes are contiguous
    for (int64_t kb = 0; kb < kc; kb += 8) {
      const int64_t ke = min_of<int64_t>(kb + 8, kc);
      for (int64_t i = 0; i < rows; i += kMR) {
        float* to = out + i * kc;
        const T* from = a + k0 * g.lda + i0 + i;
        const int64_t count = min_of<int64_t>(kMR, rows - i);
        for (int64_t k = kb; k < ke; ++k) {
          __builtin_prefetch(from + (k + 8) * g.lda);
          if constexpr (!std::is_same_v<T, float>) {
            const F x = load_n(from + k * g.lda, count);
            memcpy(to + k * kMR, &x, kMR * sizeof(float));
          } else if (count == kMR) {
            memcpy(to + k * kMR, from + k * g.lda, kMR * sizeof(float));
          } else {
            for (int r = 0; r < kMR; ++r) to[k * kMR + r] = r < count ? from[k * g.lda + r] : 0.0f;
          }
        }
      }
    }
    return;
  }
  for (int64_t i = 0; i < rows; i += W) {  // W rows = W / kMR panels by register transposes
    const T* from = a + (i0 + i) * g.lda + k0;
    const int64_t count = min_of<int64_t>(W, rows - i);
    for (int64_t k = 0; k < kc; k += W) {
      const int64_t width = kc - k;
      F r[W];
      if (count == W && width >= W) {
        unroll<W>(HONE_LAMBDA(l) { r[l] = load(from + l * g.lda + k); });
      } else {
        for (int l = 0; l < W; ++l) r[l] = l < count ? load_n(from + l * g.lda + k, width) : zero();
      }
      transpose_registers(r);
      for (int p = 0; p < W / kMR; ++p) {
        if (i + p * kMR >= rows) break;
        float* to = out + (i + p * kMR) * kc + k * kMR;
        for (int l = 0; l < W; ++l)
          if (l < width)
            memcpy(to + l * kMR, reinterpret_cast<float*>(&r[l]) + p * kMR, kMR * sizeof(float));
      }
    }
  }
}

// Calls f(m) with m as a pointer to its element type: f32, bf16 or f16.
template <class Fn>
HONE_INLINE void with_floats(const void* m, Element type, Fn&& f) {
  if (type == Element::bf16) return f(static_cast<const uint16_t*>(m));
  if (type == Element::f16) return f(static_cast<const Float16*>(m));
  f(static_cast<const float*>(m));
}
// Packs panels [p0, p1) of op(B), rows [k0, k0 + kc), into out[panel][kc][kNR]. Panel p has the columns from j0 + p *
// kNR on; columns from n on are 0.
template <class T>
void pack_b_panels(const T* b, int64_t ldb, bool trans_b, int64_t n, int64_t j0, int64_t k0,
                   int64_t kc, int64_t p0, int64_t p1, float* out) {
  if (!trans_b) {
    for (int64_t kb = 0; kb < kc; kb += 8) {
      const int64_t ke = min_of<int64_t>(kb + 8, kc);
      for (int64_t p = p0; p < p1; ++p) {
        const int64_t j = j0 + p * kNR;
        const T* from = b + k0 * ldb + j;
        float* to = out + p * kc * kNR;
        if (j + kNR <= n) {
          for (int64_t k = kb; k < ke; ++k)
            unroll<kNV>(
                HONE_LAMBDA(v) { store(to + k * kNR + v * W, load(from + k * ldb + v * W)); });
        } else {
          for (int64_t k = kb; k < ke; ++k)
            for (int v = 0; v < kNV; ++v) {
              const int64_t left = max_of<int64_t>(0, n - j - v * W);
              store(to + k * kNR + v * W, load_n(from + k * ldb + v * W, left));
            }
        }
      }
    }
    return;
  }
  for (int64_t p = p0; p < p1; ++p) {
    for (int v = 0; v < kNV; ++v) {
      const int64_t j = j0 + p * kNR + v * W;
      const int64_t count = min_of<int64_t>(W, n - j);
      const T* from = b + j * ldb + k0;
      float* to = out + p * kc * kNR + v * W;
      for (int64_t k = 0; k < kc; k += W) {
        const int64_t width = kc - k;
        F r[W];
        if (count == W && width >= W) {
          unroll<W>(HONE_LAMBDA(l) { r[l] = load(from + l * ldb + k); });
        } else {
          for (int l = 0; l < W; ++l) r[l] = l < count ? load_n(from + l * ldb + k, width) : zero();
        }
        transpose_registers(r);
        if (width >= W) {
          unroll<W>(HONE_LAMBDA(l) { store(to + (k + l) * kNR, r[l]); });
        } else {
          for (int64_t l = 0; l < width; ++l) store(to + (k + l) * kNR, r[l]);
        }
      }
    }
  }
}

// ---- register tile -------------------------------------------------------------------------

// Steps of k between a prefetch and its use. Both panels stream from the L2 cache, and some processors do not prefetch
// two streams by themselves. A prefetch past the end does not fault.
constexpr int64_t kAheadA = 32, kAheadB = 16;
// The panel of B after this one is still in the L3 cache or in memory. Each tile of a block of A prefetches its share
// of that panel into the L2 cache, a line in every kTurns / kNV steps.
constexpr int64_t kMC = 96, kTurns = kMC / kMR;

// c[kMR, kNR] (=|+=) a[kc][kMR]^T b[kc][kNR]
void tile(int64_t kc, const float* a, const float* b, float* c, int64_t ldc, bool add,
          int64_t turn) {
  F acc[kMR][kNV];
  unroll<kMR>(HONE_LAMBDA(i) {
    unroll<kNV>(HONE_LAMBDA(j) {
      acc[i][j] = zero();
      __builtin_prefetch(c + i * ldc + j * W, 1);
    });
  });
  auto step = [&]() __attribute__((always_inline)) {
    F bv[kNV];
    if constexpr (W == 16) {  // narrower tiles already use all load slots
      __builtin_prefetch(a + kAheadA * kMR);
      unroll<kNV>(HONE_LAMBDA(j) { __builtin_prefetch(b + kAheadB * kNR + j * W); });
    }
    unroll<kNV>(HONE_LAMBDA(j) { bv[j] = load(b + j * W); });
    unroll<kMR>(HONE_LAMBDA(i) {
      const F av = set1(a[i]);
      unroll<kNV>(HONE_LAMBDA(j) { acc[i][j] = fma(av, bv[j], acc[i][j]); });
    });
    a += kMR;
    b += kNR;
  };
  constexpr int kSteps = W == 16 ? kTurns / kNV : 1;
  int64_t k = 0;
  if constexpr (W == 16) {
    static_assert(kTurns % kNV == 0);
    const float* next = share_of_next(b, kNR * kc, turn, kTurns);
    for (; k + kSteps <= kc; k += kSteps, next += W) {
      __builtin_prefetch(next, 0, kToL2);
      unroll<kSteps>(HONE_LAMBDA(s) { step(); });
    }
  }
  for (; k < kc; ++k) step();
  if (add) {
    unroll<kMR>(HONE_LAMBDA(i) {
      unroll<kNV>(HONE_LAMBDA(j) { acc[i][j] = acc[i][j] + load(c + i * ldc + j * W); });
    });
  }
  unroll<kMR>(
      HONE_LAMBDA(i) { unroll<kNV>(HONE_LAMBDA(j) { store(c + i * ldc + j * W, acc[i][j]); }); });
}

struct FloatTiles {
  static constexpr int kMR = cpu::HONE_ISA::kMR, kNR = cpu::HONE_ISA::kNR;
  static constexpr int64_t kStep = 16, kPad = cpu::HONE_ISA::kPad, kKC = kGemmBlockK,
                           kMC = cpu::HONE_ISA::kMC, kNC = 3072;
  static_assert(kMC % kMR == 0 && kNC % kPad == 0);
  struct Thread {};
  static int64_t words(int64_t kc) { return kc; }
  static void pack_a(const Gemm& g, int64_t i0, int64_t rows, int64_t k0, int64_t kc, float* out) {
    with_floats(g.a, g.a_type, [&](const auto* a) { pack_a_panels(g, a, i0, rows, k0, kc, out); });
  }
  static void pack_b(const Gemm& g, int64_t j0, int64_t k0, int64_t kc, int64_t p0, int64_t p1,
                     float* out) {
    with_floats(g.b, g.b_type, [&](const auto* elements) {
      pack_b_panels(elements, g.ldb, g.trans_b, g.n, j0, k0, kc, p0, p1, out);
    });
  }
  static void tile(int64_t kc, const float* a, const float* b, float* c, int64_t ldc, bool add,
                   int64_t turn) {
    cpu::HONE_ISA::tile(kc, a, b, c, ldc, add, turn);
  }
};

// The f32 tiles, over operands rounded to the nearest f16, ties to even; values that are too large become inf.
struct F16Tiles : FloatTiles {
  static void round_all(float* p, int64_t count) {
    for_vectors(
        0, count, HONE_VECTOR { put(p + i, round_to_f16(get(p + i, whole, n)), whole, n); });
  }
  static void pack_a(const Gemm& g, int64_t i0, int64_t rows, int64_t k0, int64_t kc, float* out) {
    FloatTiles::pack_a(g, i0, rows, k0, kc, out);
    if (g.a_type == Element::f32) round_all(out, round_up(rows, kMR) * kc);
  }
  static void pack_b(const Gemm& g, int64_t j0, int64_t k0, int64_t kc, int64_t p0, int64_t p1,
                     float* out) {
    FloatTiles::pack_b(g, j0, k0, kc, p0, p1, out);
    if (g.b_type == Element::f32) round_all(out + p0 * kNR * kc, (p1 - p0) * kNR * kc);
  }
};

}  // namespace
}  // namespace hone::cpu::HONE_ISA
