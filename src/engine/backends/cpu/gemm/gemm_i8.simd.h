// The product with a B in i8. Each row of A is rounded to integers of 15 bits, with a scale for each block
// of k. The scale makes the largest element of the block kMost. Products of more than kGemmSmallRows rows are computed
// in integers, whose sums are exact. With fewer rows the rounded numbers are multiplied in f32. A row's result
// does not depend on the number of rows.
//
// A 4-byte word holds elements 2i and 2i + 1 of k as i16. After the words of a block there is a word with
// its scale in f32.
#pragma once

#include "engine/backends/cpu/gemm/gemm_tiles.simd.h"

namespace hone::cpu::HONE_ISA {
namespace {

// Returns in each word the sum of two products of i16: of the low halves of a and b, and of the high halves.
HONE_INLINE I multiply_pairs(I a, I b) {
#if defined(__AVX512F__)
  return reinterpret_cast<I>(
      _mm512_madd_epi16(reinterpret_cast<__m512i>(a), reinterpret_cast<__m512i>(b)));
#elif defined(__AVX2__)
  return reinterpret_cast<I>(
      _mm256_madd_epi16(reinterpret_cast<__m256i>(a), reinterpret_cast<__m256i>(b)));
#elif defined(__SSE2__)
  return reinterpret_cast<I>(
      _mm_madd_epi16(reinterpret_cast<__m128i>(a), reinterpret_cast<__m128i>(b)));
#else
  return ((a << 16) >> 16) * ((b << 16) >> 16) + (a >> 16) * (b >> 16);
#endif
}

HONE_INLINE int32_t word_of(int32_t even, int32_t odd) {
  return static_cast<int32_t>((static_cast<uint32_t>(even) & 0xffff) | static_cast<uint32_t>(odd)
                                                                           << 16);
}

// Loads W elements, one into each lane.
HONE_INLINE I load_wide(const int8_t* p) {
#if defined(__AVX512F__)
  return reinterpret_cast<I>(
      _mm512_cvtepi8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p))));
#elif defined(__AVX2__)
  return reinterpret_cast<I>(
      _mm256_cvtepi8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(p))));
#else
  I v{};
  for (int l = 0; l < W; ++l) v[l] = p[l];
  return v;
#endif
}
// Loads 2 W elements as W words.
HONE_INLINE I load_words(const int8_t* p) {
#if defined(__AVX512F__)
  return reinterpret_cast<I>(
      _mm512_cvtepi8_epi16(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p))));
#elif defined(__AVX2__)
  return reinterpret_cast<I>(
      _mm256_cvtepi8_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p))));
#else
  I v{};
  for (int l = 0; l < W; ++l) v[l] = word_of(p[2 * l], p[2 * l + 1]);
  return v;
#endif
}
// A copy of the first n of N elements; the others are 0. n <= 0: all are 0.
template <int N>
struct Part {
  int8_t elements[N] = {};
  Part(const int8_t* p, int64_t n) {
    if (n >= N) {
      memcpy(elements, p, N);
    } else {
      for (int64_t l = 0; l < n; ++l) elements[l] = p[l];
    }
  }
};

struct I8Tiles {
  static constexpr int kMR = W == 8 ? 6 : W == 16 ? 8 : 4;
  static constexpr int kNV = W == 16 ? 3 : 2, kNR = kNV * W;
  static constexpr int64_t kStep = 16, kPad = cpu::HONE_ISA::kPad, kKC = kGemmBlockK,
                           kMC = cpu::HONE_ISA::kMC, kNC = 3072;
  static constexpr int32_t kMost = 16383;
  static_assert(int64_t{kMost} * 128 * kKC < int64_t{1} << 31);  // the largest sum
  static_assert(kPad % kNR == 0 && kMC % kMR == 0 && kNC % kPad == 0);
  struct Thread {};

  static int64_t words(int64_t kc) { return ceil_div(kc, 2) + 1; }

  static void pack_a(const Gemm& g, int64_t i0, int64_t rows, int64_t k0, int64_t kc, float* out) {
    for (int64_t i = 0; i < round_up(rows, kMR); ++i)
      pack_row(floats_of_a(g) + (i0 + i) * g.lda + k0, i < rows ? kc : 0, kc,
               out + i / kMR * kMR * words(kc) + i % kMR);
  }

  // The rounding of a row in a block of k: x becomes q, the integer nearest to x * factor, |q| <= kMost. q stands for
  // the number q * scale. If all elements are tiny (at most 1e-30), factor and scale are 0. If one is not finite, scale
  // is NaN.
  struct Rounding {
    float factor = 0, scale = 0;
    Rounding(const float* a, int64_t n) {
      F most = zero(), zeros = zero();  // NaN once an element is not finite
      for (int64_t k = 0; k < n; k += W) {
        const F x = load_n(a + k, n - k);
        most = max(most, max(x, zero() - x));
        zeros = zeros + x * zero();
      }
      const float largest = reduce_max(most);
      if (reduce_add(zeros) != 0) {
        scale = __builtin_nanf("");
      } else if (largest > 1e-30f) {
        factor = kMost / largest;
        scale = largest / kMost;
      }
    }
    // The integers of the first n of W elements; n <= 0: zeros.
    I operator()(const float* a, int64_t n) const {
      return factor > 0 && n > 0 ? to_int(load_n(a, n) * set1(factor)) : I{};
    }
  };

  // Packs a row of kc elements and its scale. Elements from number n on count as 0.
  static void pack_row(const float* a, int64_t n, int64_t kc, float* out) {
    const Rounding round(a, n);
    int32_t q[2 * W];
    for (int64_t k = 0; k < kc; k += 2 * W) {
      store(q, round(a + k, n - k));
      store(q + W, round(a + k + W, n - k - W));
      for (int64_t l = 0; l < min_of<int64_t>(W, ceil_div(kc - k, 2)); ++l, out += kMR) {
        const int32_t word = word_of(q[2 * l], q[2 * l + 1]);
        memcpy(out, &word, sizeof word);
      }
    }
    *out = round.scale;
  }

  // Writes the rounded numbers of a row of A, q * scale, in f32.
  static void round_row(const float* a, int64_t k, float* out) {
    const int64_t step = k_block<I8Tiles>(k);
    for (int64_t k0 = 0; k0 < k; k0 += step) {
      const int64_t end = min_of(k0 + step, k);
      const Rounding round(a + k0, end - k0);
      for (int64_t i = k0; i < end; i += W)
        store_n(out + i, to_float(round(a + i, end - i)) * set1(round.scale), end - i);
    }
  }

  static void pack_b(const Gemm& g, int64_t j0, int64_t k0, int64_t kc, int64_t p0, int64_t p1,
                     float* out) {
    const auto* b = static_cast<const int8_t*>(g.b);
    const int64_t pairs = ceil_div(kc, 2);
    for (int64_t p = p0; p < p1; ++p) {
      const int64_t j = j0 + p * kNR;
      float* to = out + p * kNR * words(kc);
      if (g.trans_b)
        pack_along(b + k0, g.ldb, j, g.n, kc, to);
      else
        pack_across(b + k0 * g.ldb + j, g.ldb, g.n - j, kc, to);
      for (int v = 0; v < kNV; ++v) {
        const int64_t at = j + v * W;
        store(to + pairs * kNR + v * W, at < g.n ? load_n(g.b_scale + at, g.n - at) : zero());
      }
    }
  }

  // Packs the panel at b of a B [k][n]. `columns`: the number of columns of B from b on.
  static void pack_across(const int8_t* b, int64_t ldb, int64_t columns, int64_t kc, float* to) {
    const auto put = [&](int64_t at, I even, I odd) __attribute__((always_inline)) {
      store(to + at, as_float((even & 0xffff) | (odd << 16)));
    };
    int64_t k = 0;
    if (columns >= kNR)
      for (; k + 2 <= kc; k += 2, b += 2 * ldb)
        unroll<kNV>(HONE_LAMBDA(v) {
          put(k / 2 * kNR + v * W, load_wide(b + v * W), load_wide(b + ldb + v * W));
        });
    for (; k < kc; k += 2, b += 2 * ldb)
      for (int v = 0; v < kNV; ++v) {
        const int64_t count = columns - v * W;
        const Part<W> even(b + v * W, count), odd(b + ldb + v * W, k + 1 < kc ? count : 0);
        put(k / 2 * kNR + v * W, load_wide(even.elements), load_wide(odd.elements));
      }
  }

  // Packs the panel at column j of a B [n][k].
  static void pack_along(const int8_t* b, int64_t ldb, int64_t j, int64_t n, int64_t kc,
                         float* to) {
    const int64_t pairs = ceil_div(kc, 2);
    for (int v = 0; v < kNV; ++v)
      for (int64_t i = 0; i < pairs; i += W) {
        const int64_t count = n - j - v * W, left = kc - 2 * i;
        const int8_t* from = b + (j + v * W) * ldb + 2 * i;
        F r[W];
        if (count >= W && left >= 2 * W)
          unroll<W>(HONE_LAMBDA(l) { r[l] = as_float(load_words(from + l * ldb)); });
        else
          for (int l = 0; l < W; ++l)
            r[l] = as_float(load_words(Part<2 * W>(from + l * ldb, l < count ? left : 0).elements));
        transpose_registers(r);
        for (int64_t l = 0; l < min_of<int64_t>(W, pairs - i); ++l)
          store(to + (i + l) * kNR + v * W, r[l]);
      }
  }

  static void tile(int64_t kc, const float* a, const float* b, float* c, int64_t ldc, bool add,
                   int64_t) {
    I acc[kMR][kNV];
    unroll<kMR>(HONE_LAMBDA(i) { unroll<kNV>(HONE_LAMBDA(j) { acc[i][j] = I{}; }); });
    for (int64_t k = 0; k < kc; k += 2, a += kMR, b += kNR) {
      I bv[kNV];
      unroll<kNV>(HONE_LAMBDA(j) { bv[j] = as_int(load(b + j * W)); });
      unroll<kMR>(HONE_LAMBDA(i) {
        int32_t word;
        memcpy(&word, a + i, sizeof word);
        const I av = set1(word);
        unroll<kNV>(HONE_LAMBDA(j) { acc[i][j] = acc[i][j] + multiply_pairs(av, bv[j]); });
      });
    }
    unroll<kMR>(HONE_LAMBDA(i) {
      unroll<kNV>(HONE_LAMBDA(j) {
        const F x = to_float(acc[i][j]) * (set1(a[i]) * load(b + j * W));
        float* to = c + i * ldc + j * W;
        store(to, add ? x + load(to) : x);
      });
    });
  }
};

}  // namespace
}  // namespace hone::cpu::HONE_ISA
