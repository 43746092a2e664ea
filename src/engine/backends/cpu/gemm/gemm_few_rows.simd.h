// Products of 17 to 64 rows (beams, batches of decoding), or of fewer rows with Gemm::rows_like, with a B
// [n,k]. B is not packed, and is read once from memory. A is small and packed as [groups][k][lanes of a
// group]: rows of A are in the lanes of vectors, and an element of B is broadcast to all lanes. C is computed
// transposed, a strip of columns at a time in the L1 cache.
//
// The sums have the same bits as those of gemm_tiles.simd.h. That file also multiplies few rows
// of A if B is [k,n]: the rows of a strip of such a B would be far apart in memory, and would share cache
// sets if n is a power of two.
#pragma once

#include "engine/backends/cpu/gemm/gemm_tiles.simd.h"

namespace hone::cpu::HONE_ISA {
namespace {

constexpr int64_t kStrip = 48;  // columns of C in the L1 cache
static_assert(kStrip % W == 0);

// Vectors in a group of lanes, for a product of m rows.
HONE_INLINE int64_t lane_vectors(int64_t m) { return W == 16 ? ceil_div(m, W) : 2; }
// Rows of A, rounded up to whole groups.
HONE_INLINE int64_t lane_count(int64_t m) { return round_up(m, lane_vectors(m) * W); }

// Packs elements [s0 * W, s1 * W) of k of A into out; lanes after the last row are 0.
void pack_lanes(const Gemm& g, int64_t s0, int64_t s1, float* out) {
  const int64_t lanes = lane_vectors(g.m) * W, all = lane_count(g.m);
  for (int64_t i = 0; i < all; i += W) {
    const int64_t count = g.m - i;
    const float* from = floats_of_a(g) + i * g.lda;
    float* to = out + i / lanes * lanes * g.k + i % lanes;
    for (int64_t k = s0 * W; k < min_of(s1 * W, g.k); k += W) {
      const int64_t width = min_of<int64_t>(W, g.k - k);
      F r[W];
      if (count >= W && width == W) {
        unroll<W>(HONE_LAMBDA(l) { r[l] = load(from + l * g.lda + k); });
      } else {
        for (int l = 0; l < W; ++l) r[l] = l < count ? load_n(from + l * g.lda + k, width) : zero();
      }
      transpose_registers(r);
      for (int64_t l = 0; l < width; ++l) store(to + (k + l) * lanes, r[l]);
    }
  }
}

// sums[J][stride] (=|+=) the products of kc elements of J rows of B with V vectors of lanes of A, a [kc][V * W]. ahead:
// elements of B between a read and its prefetch.
template <int V, int J, class T>
void lane_tile(const T* const* rows, int64_t ahead, int64_t kc, const float* a, float* sums,
               int64_t stride, bool add) {
  constexpr int64_t kChunk = 16;
  alignas(64) float wide[sizeof(T) < 4 ? J * kChunk : 1];
  F acc[J][V];
  unroll<J>(HONE_LAMBDA(r) { unroll<V>(HONE_LAMBDA(v) { acc[r][v] = zero(); }); });
  for (int64_t k0 = 0; k0 < kc; k0 += kChunk) {
    const int64_t count = min_of(kChunk, kc - k0);
    const float* from[J];
    unroll<J>(HONE_LAMBDA(r) {
      const T* row = rows[r] + k0;
      __builtin_prefetch(row + ahead, 0, kToL2);
      if constexpr (sizeof(T) == 4) {
        from[r] = row;
      } else {
        for (int64_t k = 0; k < count; k += W) {
          store(wide + r * kChunk + k, count - k >= W ? load(row + k) : load_n(row + k, count - k));
        }
        from[r] = wide + r * kChunk;
      }
    });
    for (int64_t k = 0; k < count; ++k, a += V * W) {
      F av[V];
      unroll<V>(HONE_LAMBDA(v) { av[v] = load(a + v * W); });
      unroll<J>(HONE_LAMBDA(r) {
        const F bv = set1(from[r][k]);
        unroll<V>(HONE_LAMBDA(v) { acc[r][v] = fma(bv, av[v], acc[r][v]); });
      });
    }
  }
  unroll<J>(HONE_LAMBDA(r) {
    unroll<V>(HONE_LAMBDA(v) {
      float* to = sums + r * stride + v * W;
      store(to, add ? acc[r][v] + load(to) : acc[r][v]);
    });
  });
}

// The sums over all of k, of columns [j, j + J) and all lanes.
template <int V, int J, class T>
void lane_sums(const Gemm& g, const T* b, const float* a, int64_t j, float* sums) {
  const int64_t lanes = lane_count(g.m), step = k_block<FloatTiles>(g.k);
  const T* rows[J];
  for (int r = 0; r < J; ++r) {
    const int64_t column = min_of(j + r, g.n - 1);  // columns after the last one are not stored
    rows[r] = b + column * g.ldb;
  }
  for (int64_t i = 0; i < lanes; i += V * W)
    for (int64_t k0 = 0; k0 < g.k; k0 += step) {
      const T* from[J];
      for (int r = 0; r < J; ++r) from[r] = rows[r] + k0;
      lane_tile<V, J>(from, J * g.ldb, min_of(step, g.k - k0), a + i * g.k + k0 * V * W, sums + i,
                      lanes, g.accumulate || k0 > 0);
    }
}

// Columns [j0, j1) of C, with the epilogue.
template <int V, class T>
void lane_columns(const Gemm& g, const T* b, const float* a, int64_t j0, int64_t j1) {
  constexpr int J = W == 16 ? 24 / V : 6, kPart = J % 4 == 0 ? 4 : 2;
  static_assert(kStrip % J == 0 && J % kPart == 0);
  const int64_t lanes = lane_count(g.m);
  alignas(64) float sums[kStrip * kGemmFewRows];
  for (int64_t jb = j0; jb < j1; jb += kStrip) {
    const int64_t columns = min_of(kStrip, j1 - jb);
    F r[W];
    if (g.accumulate)
      for (int64_t i = 0; i < g.m; i += W)
        for (int64_t j = 0; j < columns; j += W) {
          const float* c = g.c + i * g.ldc + jb + j;
          for (int l = 0; l < W; ++l)
            r[l] = i + l < g.m ? load_n(c + l * g.ldc, columns - j) : zero();
          transpose_registers(r);
          for (int l = 0; l < W; ++l) store(sums + (j + l) * lanes + i, r[l]);
        }
    for (int64_t j = 0; j < columns;) {
      if (columns - j >= J) {
        lane_sums<V, J>(g, b, a, jb + j, sums + j * lanes);
        j += J;
      } else {
        lane_sums<V, kPart>(g, b, a, jb + j, sums + j * lanes);
        j += kPart;
      }
    }
    for (int64_t i = 0; i < g.m; i += W)
      for (int64_t j = 0; j < columns; j += W) {
        float* c = g.c + i * g.ldc + jb + j;
        for (int l = 0; l < W; ++l)
          r[l] = j + l < columns ? load(sums + (j + l) * lanes + i) : zero();
        transpose_registers(r);
        for (int64_t l = 0; l < min_of<int64_t>(W, g.m - i); ++l)
          store_n(c + l * g.ldc, r[l], columns - j);
      }
    if (has_epilogue(g)) epilogue(g, 0, g.m, jb, columns);
  }
}

bool takes_few_rows_path(const Gemm& g) {
  return g.packed_b == nullptr && g.patches == nullptr && g.b_type != Element::blocks &&
         !g.trans_a && g.trans_b && (g.rows_like > 0 || g.m > kGemmSmallRows) &&
         g.m <= kGemmFewRows;
}

// Up to this number of threads, each thread packs all of A for itself. This takes less time than waiting for the other
// threads and fetching A from their cores.
constexpr int kOwnLanes = 4;

int64_t lane_words(const Gemm& g) { return round_up(lane_count(g.m), 16) * g.k; }
int64_t few_rows_words(const Gemm& g, int threads) {
  return lane_words(g) * (threads <= kOwnLanes ? threads : 1);
}

void multiply_few_rows(const Gemm& g, float* all_a, ThreadPool& pool) {
  pool.run([&](int thread) {
    float* packed_a = all_a;
    const int64_t all_steps = ceil_div(g.k, W);
    if (pool.size() <= kOwnLanes) {
      packed_a += thread * lane_words(g);
      pack_lanes(g, 0, all_steps, packed_a);
    } else {
      const Range steps = thread_range(all_steps, thread, pool.size());
      pack_lanes(g, steps.begin, steps.end, packed_a);
      pool.barrier();
    }
    const Range blocks = thread_range(ceil_div(g.n, 16), thread, pool.size());
    const int64_t j0 = blocks.begin * 16, j1 = min_of(blocks.end * 16, g.n);
    if (j0 >= j1) return;
    with_floats(g.b, g.b_type, [&](const auto* b) {
      if constexpr (W == 16) {
        if (g.m > 48) return lane_columns<4>(g, b, packed_a, j0, j1);
        if (g.m > 32) return lane_columns<3>(g, b, packed_a, j0, j1);
        if (g.m <= 16) return lane_columns<1>(g, b, packed_a, j0, j1);
      }
      lane_columns<2>(g, b, packed_a, j0, j1);
    });
  });
}

}  // namespace
}  // namespace hone::cpu::HONE_ISA
