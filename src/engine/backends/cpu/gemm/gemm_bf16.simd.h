// The matrix product of operands rounded to bf16, summed in f32: with AMX tiles, the dot products of
// AVX512_BF16, or f32 tiles over rounded values. A 4-byte word holds elements 2i and 2i + 1 of k. AMX and
// AVX512_BF16 count subnormal elements as zero.
//
// With AMX, this file also computes the f32 product: each operand is split into three bf16 parts, a = a0 +
// a1 + a2. Six of the nine products of parts are summed, the largest (a0 b0) last; each of the other three
// is less than 2^-16 times the largest. The error is at most 2^-23 of |a| |b|, less than the rounding of the sum
// itself. Henry, Tang and Heinecke, "Leveraging the bfloat16 Artificial Intelligence Datatype for Higher-Precision
// Computations", ARITH 2019.
#include "engine/backends/cpu/gemm/gemm_tiles.simd.h"

namespace hone::cpu::HONE_ISA {
namespace {

#if defined(__AVX512BF16__)

// Rounds 2 W floats, `low` before `high`, to bf16 and returns them as W words. kRest: low and high become the rounding
// errors.
template <bool kRest>
HONE_INLINE F round_pairs(F& low, F& high) {
  const __m512i words = reinterpret_cast<__m512i>(_mm512_cvtne2ps_pbh(high, low));
  if constexpr (kRest) {
    const auto wide = [](__m256i half) __attribute__((always_inline)) {
      return reinterpret_cast<F>(_mm512_slli_epi32(_mm512_cvtepu16_epi32(half), 16));
    };
    low = low - wide(_mm512_castsi512_si256(words));
    high = high - wide(_mm512_extracti64x4_epi64(words, 1));
  }
  return reinterpret_cast<F>(words);
}

// Splits the 2 W floats at p, consecutive along k, into kParts parts of W words: part i goes to out[i * W]. Elements
// from number n on count as 0.
template <int kParts, class T>
HONE_INLINE void parts_along(const T* p, int64_t n, F* out) {
  F low = n >= W ? load(p) : load_n(p, n);
  F high = n >= 2 * W ? load(p + W) : n > W ? load_n(p + W, n - W) : zero();
  unroll<kParts>(HONE_LAMBDA(part) { out[part * W] = round_pairs<part + 1 < kParts>(low, high); });
}

// Splits two rows of W floats, `even` for k and `odd` for k + 1, into kParts parts. Each word has the element of k in
// its low half.
template <int kParts>
HONE_INLINE void parts_across(F even, F odd, F* out) {
  const __m512i order = _mm512_set_epi16(31, 15, 30, 14, 29, 13, 28, 12, 27, 11, 26, 10, 25, 9, 24,
                                         8, 23, 7, 22, 6, 21, 5, 20, 4, 19, 3, 18, 2, 17, 1, 16, 0);
  unroll<kParts>(HONE_LAMBDA(part) {
    const F words = round_pairs<part + 1 < kParts>(even, odd);
    out[part * W] =
        reinterpret_cast<F>(_mm512_permutexvar_epi16(order, reinterpret_cast<__m512i>(words)));
  });
}

// Loads 2 W elements of k by W columns of a matrix [k][n] at `from`. out[r] receives word r of the W columns. Only
// `depth` elements and `width` columns are read; the others are 0. Part p of word r goes to out[p * W + r].
template <int kParts, class T>
HONE_INLINE void load_across(const T* from, int64_t stride, int64_t depth, int64_t width, F* out) {
  if (depth >= 2 * W && width >= W) {
    unroll<W>(HONE_LAMBDA(r) {
      parts_across<kParts>(load(from + 2 * r * stride), load(from + (2 * r + 1) * stride), out + r);
    });
    return;
  }
  for (int r = 0; r < W; ++r)
    parts_across<kParts>(2 * r < depth ? load_n(from + 2 * r * stride, width) : zero(),
                         2 * r + 1 < depth ? load_n(from + (2 * r + 1) * stride, width) : zero(),
                         out + r);
}

// Like load_across(), but for a matrix [n][k] with `width` rows: out[r] receives the W words of row r.
template <int kParts, class T>
HONE_INLINE void load_along(const T* from, int64_t stride, int64_t depth, int64_t width, F* out) {
  if (depth >= 2 * W && width >= W) {
    unroll<W>(HONE_LAMBDA(r) { parts_along<kParts>(from + r * stride, 2 * W, out + r); });
    return;
  }
  for (int r = 0; r < W; ++r)
    parts_along<kParts>(from + r * stride, r < width ? depth : 0, out + r);
}

// Loads a square of 2 W elements of k by W rows of op(A), or columns of op(B), from row or column `at`. by_word: out[r]
// receives word r of the W rows or columns; else all words of row or column r. Part p goes to out[p * W + r].
// k_is_outer: the matrix is [k][rows or columns] in memory. count, depth: the rows or columns, and elements of k, that
// exist; the others are 0.
template <int kParts = 1, class T>
HONE_INLINE void load_square(const T* m, int64_t ld, bool k_is_outer, int64_t at, int64_t count,
                             int64_t k, int64_t depth, bool by_word, F* out) {
  if (k_is_outer)
    load_across<kParts>(m + k * ld + at, ld, depth, count, out);
  else
    load_along<kParts>(m + at * ld + k, ld, depth, count, out);
  if (k_is_outer != by_word)
    unroll<kParts>(HONE_LAMBDA(part) { transpose_registers(out + part * W); });
}

// Calls f(m) with m as a pointer to f32, or to bf16 if kNarrow is set and that is its type.
template <bool kNarrow, class Fn>
HONE_INLINE void with_operand(const void* m, Element type, Fn&& f) {
  if constexpr (kNarrow)
    if (type == Element::bf16) return f(static_cast<const uint16_t*>(m));
  f(static_cast<const float*>(m));
}

#endif

#if defined(__AMX_BF16__)

// Tiles for AMX (`Tiles` of gemm_blocks.simd.h). A packed panel has 32 rows of A or columns of B, as two squares of 16
// x 16 words for each part: [kc / 2W][kParts][2][W][W].
template <int kParts>
struct AmxTiles {
  static constexpr int kMR = 32, kNR = 32;
  static constexpr int64_t kStep = 2 * W, kPad = 32,
                           kKC = kParts == 1 ? kGemmBf16BlockK : kGemmBlockK,
                           kMC = kParts == 1 ? 256 : 128, kNC = kParts == 1 ? 3072 : 1536;
  static constexpr int kSquare = W * W, kPart = 2 * kSquare;
  // The number of tile() calls whose prefetches, of 64 words each, together cover a whole panel of B.
  static constexpr int kTurns = kParts == 1 ? 8 : 4;

  // The intrinsics do not tell the compiler what memory they read and write.
  static void settle() { __asm__ volatile("" ::: "memory"); }

  struct Thread {
    Thread() {
      static const struct {
        uint8_t palette = 1, start = 0, reserved[14] = {};
        uint16_t bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
        uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
      } config;
      settle();
      _tile_loadconfig(&config);
    }
    ~Thread() { _tile_release(); }
    Thread(const Thread&) = delete;
    Thread& operator=(const Thread&) = delete;
  };

  static int64_t words(int64_t kc) { return kParts * round_up(kc, 2 * W) / 2; }

  // Packs `count` rows of op(A), or columns of op(B), into panels. Reads the matrix along its rows in memory.
  template <class T>
  static void pack(const T* m, int64_t ld, bool k_is_outer, int64_t at, int64_t count, int64_t k0,
                   int64_t kc, bool by_word, float* out) {
    const auto square = [&](int64_t i, int64_t k) __attribute__((always_inline)) {
      F r[kParts * W];
      load_square<kParts>(m, ld, k_is_outer, at + i, count - i, k0 + k, kc - k, by_word, r);
      float* to =
          out + i / kMR * kMR * words(kc) + i % kMR / W * kSquare + k / (2 * W) * kParts * kPart;
      unroll<kParts * W>(HONE_LAMBDA(l) { store(to + l / W * kPart + l % W * W, r[l]); });
    };
    if (k_is_outer) {
      for (int64_t k = 0; k < kc; k += 2 * W)
        for (int64_t i = 0; i < count; i += W) square(i, k);
    } else {
      for (int64_t i = 0; i < count; i += W)
        for (int64_t k = 0; k < kc; k += 2 * W) square(i, k);
    }
    if (count % kMR == 0 || count % kMR > W) return;
    float* to = out + count / kMR * kMR * words(kc) + kSquare;
    for (int64_t left = kMR * words(kc); left > 0; left -= kPart, to += kPart)
      memset(to, 0, kSquare * sizeof(float));
  }
  static void pack_a(const Gemm& g, int64_t i0, int64_t rows, int64_t k0, int64_t kc, float* out) {
    with_operand<kParts == 1>(g.a, g.a_type, [&](const auto* a) {
      pack(a, g.lda, g.trans_a, i0, rows, k0, kc, false, out);
    });
  }
  static void pack_b(const Gemm& g, int64_t j0, int64_t k0, int64_t kc, int64_t p0, int64_t p1,
                     float* out) {
    const int64_t from = j0 + p0 * kNR, count = min_of<int64_t>((p1 - p0) * kNR, g.n - from);
    if (count > 0)
      with_operand<kParts == 1>(g.b, g.b_type, [&](const auto* b) {
        pack(b, g.ldb, !g.trans_b, from, count, k0, kc, true, out + p0 * kNR * words(kc));
      });
  }

  static void tile(int64_t kc, const float* a, const float* b, float* c, int64_t ldc, bool add,
                   int64_t turn) {
    // Prefetches a share of the next panel of B from the L3 cache. A processor that fetches one cache line of a pair
    // also fetches the other.
    const float* next = share_of_next(b, kNR * words(kc), turn, kTurns);
    const auto fetch = [&]() __attribute__((always_inline)) {
      __builtin_prefetch(next, 0, kToL2);
      __builtin_prefetch(next + 32, 0, kToL2);
      next += 64;
    };
    settle();
    if (add && !kAddLast) {
      load_c(c, ldc);
    } else {
      _tile_zero(0);
      _tile_zero(1);
      _tile_zero(2);
      _tile_zero(3);
    }
    for (int64_t k = 0; k < kc; k += 2 * W, a += kParts * kPart, b += kParts * kPart) {
      if constexpr (kParts == 3) {
        load_a(a);
        load_b(b + 2 * kPart);
        multiply();
        fetch();
        load_b(b + kPart);
        multiply();
        fetch();
        load_a(a + kPart);
        multiply();
        fetch();
        load_b(b);
        multiply();
        fetch();
        load_a(a + 2 * kPart);
        multiply();
        fetch();
        load_a(a);
        multiply();
        fetch();
      } else {
        _tile_loadd(4, a, 64);
        _tile_loadd(6, b, 64);
        _tile_dpbf16ps(0, 4, 6);
        _tile_loadd(7, b + kSquare, 64);
        _tile_dpbf16ps(1, 4, 7);
        _tile_loadd(5, a + kSquare, 64);
        _tile_dpbf16ps(2, 5, 6);
        _tile_dpbf16ps(3, 5, 7);
        fetch();
      }
    }
    if (add && kAddLast) {
      alignas(64) float sums[kMR * kNR];
      store_c(sums, kNR);
      for (int64_t r = 0; r < kMR; ++r)
        unroll<kNR / W>(HONE_LAMBDA(v) {
          float* to = c + r * ldc + v * W;
          store(to, load(to) + load(sums + r * kNR + v * W));
        });
    } else {
      store_c(c, ldc);
    }
  }

 private:
  // Whether C is added after the sums of a block of k instead of before them: sums that begin at 0 have smaller
  // rounding errors. With kParts 1 this does not matter, because the rounding of the operands to bf16 is larger.
  static constexpr bool kAddLast = kParts > 1;

  static HONE_INLINE void load_c(const float* c, int64_t ldc) {
    _tile_loadd(0, c, ldc * 4);
    _tile_loadd(1, c + W, ldc * 4);
    _tile_loadd(2, c + W * ldc, ldc * 4);
    _tile_loadd(3, c + W * ldc + W, ldc * 4);
  }
  static HONE_INLINE void store_c(float* c, int64_t ldc) {
    _tile_stored(0, c, ldc * 4);
    _tile_stored(1, c + W, ldc * 4);
    _tile_stored(2, c + W * ldc, ldc * 4);
    _tile_stored(3, c + W * ldc + W, ldc * 4);
    settle();
  }
  static HONE_INLINE void load_a(const float* a) {
    _tile_loadd(4, a, 64);
    _tile_loadd(5, a + kSquare, 64);
  }
  static HONE_INLINE void load_b(const float* b) {
    _tile_loadd(6, b, 64);
    _tile_loadd(7, b + kSquare, 64);
  }
  static HONE_INLINE void multiply() {
    _tile_dpbf16ps(0, 4, 6);
    _tile_dpbf16ps(1, 4, 7);
    _tile_dpbf16ps(2, 5, 6);
    _tile_dpbf16ps(3, 5, 7);
  }
};
using Bf16Tiles = AmxTiles<1>;

#elif defined(__AVX512BF16__)

// Tiles with the layout of the f32 tiles, and words in the place of floats.
struct Bf16Tiles {
  static constexpr int kMR = 8, kNV = 3, kNR = kNV * W;
  static constexpr int64_t kStep = 2 * W, kPad = kNR, kKC = kGemmBf16BlockK, kMC = 96, kNC = 3072;
  struct Thread {};

  static int64_t words(int64_t kc) { return round_up(kc, 2 * W) / 2; }

  static void pack_a(const Gemm& g, int64_t i0, int64_t rows, int64_t k0, int64_t kc, float* out) {
    with_operand<true>(g.a, g.a_type, [&](const auto* a) {
      for (int64_t i = 0; i < rows; i += W)
        for (int64_t k = 0; k < kc; k += 2 * W) {
          F r[W];
          load_square(a, g.lda, g.trans_a, i0 + i, rows - i, k0 + k, kc - k, true, r);
          for (int p = 0; p < W / kMR && i + p * kMR < rows; ++p) {
            float* to = out + (i + p * kMR) * words(kc) + k / 2 * kMR;
            unroll<W>(HONE_LAMBDA(l) {
              memcpy(to + l * kMR, reinterpret_cast<float*>(&r[l]) + p * kMR, kMR * sizeof(float));
            });
          }
        }
    });
  }
  static void pack_b(const Gemm& g, int64_t j0, int64_t k0, int64_t kc, int64_t p0, int64_t p1,
                     float* out) {
    with_operand<true>(g.b, g.b_type, [&](const auto* b) {
      for (int64_t p = p0; p < p1; ++p)
        for (int v = 0; v < kNV; ++v) {
          const int64_t j = j0 + p * kNR + v * W;
          float* to = out + p * kNR * words(kc) + v * W;
          for (int64_t k = 0; k < kc; k += 2 * W) {
            F r[W];
            load_square(b, g.ldb, !g.trans_b, j, max_of<int64_t>(0, g.n - j), k0 + k, kc - k, true,
                        r);
            unroll<W>(HONE_LAMBDA(l) { store(to + (k / 2 + l) * kNR, r[l]); });
          }
        }
    });
  }

  static void tile(int64_t kc, const float* a, const float* b, float* c, int64_t ldc, bool add,
                   int64_t) {
    F acc[kMR][kNV];
    unroll<kMR>(HONE_LAMBDA(i) {
      unroll<kNV>(HONE_LAMBDA(j) { acc[i][j] = add ? load(c + i * ldc + j * W) : zero(); });
    });
    for (int64_t k = 0; k < words(kc); ++k, a += kMR, b += kNR) {
      F bv[kNV];
      unroll<kNV>(HONE_LAMBDA(j) { bv[j] = load(b + j * W); });
      unroll<kMR>(HONE_LAMBDA(i) {
        const F av = set1(a[i]);
        unroll<kNV>(HONE_LAMBDA(j) {
          acc[i][j] = _mm512_dpbf16_ps(acc[i][j], reinterpret_cast<__m512bh>(av),
                                       reinterpret_cast<__m512bh>(bv[j]));
        });
      });
    }
    unroll<kMR>(
        HONE_LAMBDA(i) { unroll<kNV>(HONE_LAMBDA(j) { store(c + i * ldc + j * W, acc[i][j]); }); });
  }
};

#else

// f32 tiles over values rounded to the nearest bf16, ties to even.
struct Bf16Tiles : FloatTiles {
  static constexpr int64_t kKC = kGemmBf16BlockK;
  static void round_all(float* p, int64_t count) {
    for_vectors(
        0, count, HONE_VECTOR {
          const I bits = as_int(get(p + i, whole, n));
          const I rounded = (bits + 0x7fff + ((bits >> 16) & 1)) & static_cast<int32_t>(0xffff0000);
          const I finite = (bits & 0x7f800000) != 0x7f800000;
          put(p + i, as_float(finite ? rounded : bits), whole, n);
        });
  }
  static void pack_a(const Gemm& g, int64_t i0, int64_t rows, int64_t k0, int64_t kc, float* out) {
    FloatTiles::pack_a(g, i0, rows, k0, kc, out);
    round_all(out, round_up(rows, kMR) * kc);
  }
  static void pack_b(const Gemm& g, int64_t j0, int64_t k0, int64_t kc, int64_t p0, int64_t p1,
                     float* out) {
    FloatTiles::pack_b(g, j0, k0, kc, p0, p1, out);
    round_all(out + p0 * kNR * kc, (p1 - p0) * kNR * kc);
  }
};

#endif

template <class Tiles>
int64_t columns_bytes(const Gemm& g) {
  const WordsAlone<Tiles> words(g);
  return 4 * (words.a + words.b + words.gathered);
}

template <class Tiles>
int64_t tiles_workspace_bytes(const Gemm& g, int threads) {
  return g.m <= 0 || g.n <= 0 || g.k <= 0 ? 0 : 4 * block_words<Tiles>(g, threads);
}

}  // namespace

int64_t gemm_bf16_workspace_bytes(const Gemm& g, int threads) {
  return tiles_workspace_bytes<Bf16Tiles>(g, threads);
}

void gemm_bf16(const Gemm& g, void* workspace, ThreadPool& pool) {
  multiply_blocks<Bf16Tiles>(g, workspace, pool);
}

int64_t gemm_columns_bf16_bytes(const Gemm& g) { return columns_bytes<Bf16Tiles>(g); }
void gemm_columns_bf16(const Gemm& g, int64_t begin, int64_t end, void* workspace) {
  multiply_columns<Bf16Tiles>(g, begin, end, static_cast<float*>(workspace));
}

#if defined(__AMX_BF16__)
int64_t gemm_columns_split_bytes(const Gemm& g) { return columns_bytes<AmxTiles<3>>(g); }
void gemm_columns_split(const Gemm& g, int64_t begin, int64_t end, void* workspace) {
  multiply_columns<AmxTiles<3>>(g, begin, end, static_cast<float*>(workspace));
}

int64_t gemm_split_workspace_bytes(const Gemm& g, int threads) {
  return tiles_workspace_bytes<AmxTiles<3>>(g, threads);
}

void gemm_split(const Gemm& g, void* workspace, ThreadPool& pool) {
  multiply_blocks<AmxTiles<3>>(g, workspace, pool);
}
#endif

}  // namespace hone::cpu::HONE_ISA
