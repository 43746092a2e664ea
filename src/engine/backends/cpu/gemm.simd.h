// Matrix product after Goto and van de Geijn, "Anatomy of High-Performance Matrix Multiplication",
// ACM TOMS 34(3), 2008. Register tile kMR x kNR; A is packed in panels of kMR rows [k][kMR], B in
// panels of kNR columns [k][kNR]. B blocks (kKC x kNC) are packed by all threads together into one
// of two shared buffers (one barrier a block); each thread packs its own A blocks (kMC x kKC, for
// the L2 cache). Threads stand in a grid tm x tn over rows and columns.
#include "engine/backends/cpu/gemm_pack.simd.h"

namespace hone::cpu::HONE_ISA {
namespace {

// ---- register tile -------------------------------------------------------------------------

// c[kMR, kNR] (=|+=) a[kc][kMR]^T b[kc][kNR]
void tile(int64_t kc, const float* a, const float* b, float* c, int64_t ldc, bool add) {
  F acc[kMR][kNV];
  unroll<kMR>(HONE_LAMBDA(i) {
    unroll<kNV>(HONE_LAMBDA(j) {
      acc[i][j] = zero();
      __builtin_prefetch(c + i * ldc + j * W, 1);
    });
  });
  for (int64_t k = 0; k < kc; ++k) {
    F bv[kNV];
    unroll<kNV>(HONE_LAMBDA(j) { bv[j] = load(b + j * W); });
    unroll<kMR>(HONE_LAMBDA(i) {
      const F av = set1(a[i]);
      unroll<kNV>(HONE_LAMBDA(j) { acc[i][j] = fma(av, bv[j], acc[i][j]); });
    });
    a += kMR;
    b += kNR;
  }
  if (add) {
    unroll<kMR>(HONE_LAMBDA(i) {
      unroll<kNV>(HONE_LAMBDA(j) { acc[i][j] = acc[i][j] + load(c + i * ldc + j * W); });
    });
  }
  unroll<kMR>(
      HONE_LAMBDA(i) { unroll<kNV>(HONE_LAMBDA(j) { store(c + i * ldc + j * W, acc[i][j]); }); });
}

HONE_INLINE F activate(Activation act, F x) {
  switch (act) {
    case Activation::gelu_tanh:
      return GeluTanh::forward(x);
    case Activation::gelu_erf:
      return GeluErf::forward(x);
    case Activation::relu:
      return Relu::forward(x);
    case Activation::silu:
      return Silu::forward(x);
    default:
      return x;
  }
}

bool has_epilogue(const Gemm& g) {
  return g.bias || g.pre || g.residual || g.act != Activation::none;
}

// C rows i0.., columns j0.. hold the finished sums; applies the epilogue to them.
void epilogue(const Gemm& g, int64_t i0, int64_t rows, int64_t j0, int64_t columns) {
  for (int64_t i = i0; i < i0 + rows; ++i) {
    for (int64_t j = j0; j < j0 + columns; j += W) {
      const int64_t n = j0 + columns - j;
      F x = load_n(g.c + i * g.ldc + j, n);
      if (g.bias) x = x + load_n(g.bias + j, n);
      if (g.pre) store_n(g.pre + i * g.ldpre + j, x, n);
      x = activate(g.act, x);
      if (g.residual) x = x + load_n(g.residual + i * g.ldresidual + j, n);
      store_n(g.c + i * g.ldc + j, x, n);
    }
  }
}

// ---- blocks --------------------------------------------------------------------------------

// Rows [i0, i1), panels [p0, p1) of the B block at column j0: packs A blocks and multiplies.
void multiply_block(const Gemm& g, int64_t i0, int64_t i1, int64_t j0, int64_t p0, int64_t p1,
                    int64_t k0, int64_t kc, const float* packed_b, float* packed_a) {
  const bool add = k0 > 0 || g.accumulate;
  const bool finish = k0 + kc == g.k && has_epilogue(g);
  for (int64_t ib = i0; ib < i1; ib += kMC) {
    const int64_t rows = min_of(kMC, i1 - ib);
    pack_a(g, ib, rows, k0, kc, packed_a);
    for (int64_t p = p0; p < p1; ++p) {
      const int64_t j = j0 + p * kNR, columns = min_of<int64_t>(kNR, g.n - j);
      for (int64_t i = 0; i < rows; i += kMR) {
        const int64_t count = min_of<int64_t>(kMR, rows - i);
        const float* a = packed_a + i * kc;
        const float* b = packed_b + p * kc * kNR;
        float* c = g.c + (ib + i) * g.ldc + j;
        if (count == kMR && columns == kNR) {
          tile(kc, a, b, c, g.ldc, add);
        } else {
          alignas(64) float edge[kMR * kNR];
          tile(kc, a, b, edge, kNR, false);
          for (int64_t r = 0; r < count; ++r)
            for (int64_t q = 0; q < columns; q += W) {
              F x = load(edge + r * kNR + q);
              if (add) x = x + load_n(c + r * g.ldc + q, columns - q);
              store_n(c + r * g.ldc + q, x, columns - q);
            }
        }
        if (finish) epilogue(g, ib + i, count, j, columns);
      }
    }
  }
}

struct Grid {
  int rows, columns;
};
// The grid whose busiest thread has the fewest tiles, counting the packing of A that columns of
// the grid repeat as a twentieth of a panel's work.
Grid choose_grid(int64_t m, int64_t n, int threads) {
  const int64_t mp = ceil_div(m, kMR), np = ceil_div(min_of(n, kNC), kNR);
  Grid best{threads, 1};
  double least = 1e300;
  for (int tm = 1; tm <= threads; ++tm) {
    if (threads % tm) continue;
    const double rows = static_cast<double>(ceil_div(mp, tm));
    const double cost = rows * (static_cast<double>(ceil_div(np, threads / tm)) + 1.0);
    if (cost <= least) {
      least = cost;
      best = {tm, threads / tm};
    }
  }
  return best;
}

// ---- few rows ------------------------------------------------------------------------------

// C[:, j0:j1] for B [k,n]: C stays in the L1 cache while eight rows of B pass at a time.
template <int V, bool Whole, class T>
HONE_INLINE void small_nn_step(const Gemm& g, const T* b, int64_t k, int64_t j, int64_t n) {
  F bv[8][V], scale[V];
  if constexpr (kScaled<T>)
    unroll<V>(HONE_LAMBDA(v) {
      scale[v] = Whole ? load(g.b_scale + j + v * W) : load_n(g.b_scale + j, n);
    });
  unroll<8>(HONE_LAMBDA(r) {
    unroll<V>(HONE_LAMBDA(v) {
      const T* from = b + (k + r) * g.ldb + j + v * W;
      __builtin_prefetch(from + 8 * g.ldb);
      bv[r][v] = Whole ? load(from) : load_n(from, n);
      if constexpr (kScaled<T>) bv[r][v] = bv[r][v] * scale[v];
    });
  });
  const float* a = g.a + k;
  for (int64_t i = 0; i < g.m; ++i, a += g.lda) {
    float* c = g.c + i * g.ldc + j;
    F x[V], y[V];
    unroll<V>(HONE_LAMBDA(v) {
      x[v] = Whole ? load(c + v * W) : load_n(c, n);
      y[v] = zero();
    });
    unroll<4>(HONE_LAMBDA(r) {
      const F a0 = set1(a[r]), a1 = set1(a[r + 4]);
      unroll<V>(HONE_LAMBDA(v) {
        x[v] = fma(a0, bv[r][v], x[v]);
        y[v] = fma(a1, bv[r + 4][v], y[v]);
      });
    });
    unroll<V>(HONE_LAMBDA(v) {
      if (Whole)
        store(c + v * W, x[v] + y[v]);
      else
        store_n(c, x[v] + y[v], n);
    });
  }
}

template <class T>
void small_nn(const Gemm& g, const T* b, int64_t j0, int64_t j1) {
  constexpr int V = W == 16 ? 2 : 1;
  const int64_t block = max_of<int64_t>(V * W, 8192 / g.m / (V * W) * (V * W));
  for (int64_t jb = j0; jb < j1; jb += block) {
    const int64_t je = min_of(jb + block, j1);
    if (!g.accumulate)
      for (int64_t i = 0; i < g.m; ++i) memset(g.c + i * g.ldc + jb, 0, (je - jb) * sizeof(float));
    int64_t k = 0;
    for (; k + 8 <= g.k; k += 8) {
      int64_t j = jb;
      for (; j + V * W <= je; j += V * W) small_nn_step<V, true>(g, b, k, j, 0);
      for (; j < je; j += W) small_nn_step<1, false>(g, b, k, j, je - j);
    }
    for (; k < g.k; ++k)
      for (int64_t j = jb; j < je; j += W) {
        F bv = load_n(b + k * g.ldb + j, je - j);
        if constexpr (kScaled<T>) bv = bv * load_n(g.b_scale + j, je - j);
        for (int64_t i = 0; i < g.m; ++i) {
          float* c = g.c + i * g.ldc + j;
          store_n(c, fma(set1(g.a[i * g.lda + k]), bv, load_n(c, je - j)), je - j);
        }
      }
    if (has_epilogue(g)) epilogue(g, 0, g.m, jb, je - jb);
  }
}

// Rows of A that one visit of a row of B serves, for a product of m rows.
HONE_INLINE int64_t small_group(int64_t m) {
  return m == 1 ? 1 : m == 2 ? 2 : m <= 4 || W < 16 ? 4 : 8;
}

// A as [groups][k / W][group][W], zero padded: rows apart by a power of two would share cache sets.
void pack_small_a(const Gemm& g, int64_t k0, int64_t k1, float* out) {
  const int64_t group = small_group(g.m), steps = ceil_div(g.k, W);
  for (int64_t i = 0; i < g.m; i += group)
    for (int64_t s = k0; s < k1; ++s)
      for (int64_t r = 0; r < group; ++r)
        store(out + (i * steps + s * group + r) * W,
              i + r < g.m ? load_n(g.a + (i + r) * g.lda + s * W, g.k - s * W) : zero());
}

// Dot products over k of R packed rows of A with Q rows of B [n,k] from row j, in U partial sums.
template <int R, int Q, int U, class T>
HONE_INLINE void dots(const Gemm& g, const T* all_b, const float* a, int64_t i, int64_t j) {
  F acc[R][Q][U];
  unroll<R>(HONE_LAMBDA(r) {
    unroll<Q>(HONE_LAMBDA(q) { unroll<U>(HONE_LAMBDA(u) { acc[r][q][u] = zero(); }); });
  });
  const T* b = all_b + j * g.ldb;
  auto step = [&](int64_t k, auto u, auto whole) __attribute__((always_inline)) {
    F bv[Q];
    unroll<Q>(HONE_LAMBDA(q) {
      bv[q] = get(b + q * g.ldb + k, whole, g.k - k);
      if constexpr (decltype(whole)::value)
        __builtin_prefetch(b + q * g.ldb + k + 4096 / sizeof(T));
    });
    unroll<R>(HONE_LAMBDA(r) {
      const F av = load(a + k * R + r * W);
      unroll<Q>(HONE_LAMBDA(q) { acc[r][q][u] = fma(av, bv[q], acc[r][q][u]); });
    });
  };
  int64_t k = 0;
  for (; k + U * W <= g.k; k += U * W)
    unroll<U>(HONE_LAMBDA(u) { step(k + u * W, u, std::true_type{}); });
  for (; k < g.k; k += W) step(k, std::integral_constant<int, 0>{}, std::false_type{});
  unroll<R>(HONE_LAMBDA(r) {
    unroll<Q>(HONE_LAMBDA(q) {
      F sum = acc[r][q][0];
      unroll<U - 1>(HONE_LAMBDA(u) { sum = sum + acc[r][q][u + 1]; });
      float* c = g.c + (i + r) * g.ldc + j + q;
      if constexpr (kScaled<T>) sum = sum * set1(g.b_scale[j + q]);
      if (i + r < g.m) *c = reduce_add(sum) + (g.accumulate ? *c : 0.0f);
    });
  });
}

template <int R, int Q, int U, class T>
void dot_rows(const Gemm& g, const T* b, const float* a, int64_t j0, int64_t j1) {
  const int64_t floats = ceil_div(g.k, W) * W;
  int64_t j = j0;
  for (; j + Q <= j1; j += Q)
    for (int64_t i = 0; i < g.m; i += R) dots<R, Q, U>(g, b, a + i * floats, i, j);
  for (; j < j1; ++j)
    for (int64_t i = 0; i < g.m; i += R) dots<R, 1, U>(g, b, a + i * floats, i, j);
}

template <class T>
void small_nt(const Gemm& g, const T* b, const float* a, int64_t j0, int64_t j1) {
  // One row of B at a time is what memory likes best; several, where A comes from the L2 cache.
  const bool a_in_l1 = g.m * g.k <= 8192;
  switch (small_group(g.m)) {
    case 1:
      dot_rows<1, 1, 4>(g, b, a, j0, j1);
      break;
    case 2:
      dot_rows<2, 1, 4>(g, b, a, j0, j1);
      break;
    case 4:
      if (a_in_l1)
        dot_rows<4, 1, 2>(g, b, a, j0, j1);
      else
        dot_rows<4, 2, W == 16 ? 2 : 1>(g, b, a, j0, j1);
      break;
    default:
      if constexpr (W == 16) {
        if (a_in_l1)
          dot_rows<8, 1, 2>(g, b, a, j0, j1);
        else
          dot_rows<8, 3, 1>(g, b, a, j0, j1);
      }
  }
  if (has_epilogue(g)) epilogue(g, 0, g.m, j0, j1 - j0);
}

// Floats of A that every thread packs for itself: less than waiting for the others costs.
constexpr int64_t kOwnA = 8192;

bool takes_small_path(const Gemm& g) {
  return g.packed_b == nullptr && g.m <= kGemmSmallRows && !g.trans_a;
}

int64_t a_block_floats(const Gemm& g) {
  return round_up(min_of(kMC, round_up(g.m, W)) * min_of(kKC, g.k) + W, 16);
}
int64_t b_block_floats(const Gemm& g) {
  return min_of(kKC, g.k) * min_of(kNC, round_up(g.n, kPad));
}

}  // namespace

int64_t gemm_workspace_bytes(const Gemm& g, int threads) {
  if (g.m <= 0 || g.n <= 0 || g.k <= 0) return 0;
  if (takes_small_path(g)) return g.trans_b ? 4 * round_up(g.m, 16) * round_up(g.k, 16) : 0;
  const int64_t b = g.packed_b ? 0 : 2 * round_up(b_block_floats(g), 16);
  // W and kMR differ between instruction sets; 16 rows more cover them all
  return 4 * (b + threads * (a_block_floats(g) + 16 * min_of(kKC, g.k)));
}

int64_t pack_b_bytes(int64_t k, int64_t n) { return 4 * k * round_up(n, kPad); }

// Packed layout: blocks of k_block(k) rows one after the other, each [panels of kNR][kc][kNR].
void pack_b(int64_t k, int64_t n, const float* b, int64_t ldb, bool trans_b, float* packed,
            ThreadPool& pool) {
  if (k <= 0 || n <= 0) return;
  const int64_t panels = ceil_div(n, kNR), step = k_block(k);
  pool.parallel_for(panels, [&](int64_t p0, int64_t p1, int) {
    for (int64_t k0 = 0; k0 < k; k0 += step)
      pack_b_panels(b, nullptr, ldb, trans_b, n, 0, k0, min_of(step, k - k0), p0, p1,
                    packed + k0 * panels * kNR);
  });
}

void gemm(const Gemm& g, void* workspace, ThreadPool& pool) {
  if (g.m <= 0 || g.n <= 0) return;
  if (g.k <= 0) {  // an empty sum
    pool.parallel_for(g.m, [&](int64_t i0, int64_t i1, int) {
      if (!g.accumulate)
        for (int64_t i = i0; i < i1; ++i) memset(g.c + i * g.ldc, 0, g.n * sizeof(float));
      if (has_epilogue(g)) epilogue(g, i0, i1 - i0, 0, g.n);
    });
    return;
  }
  if (takes_small_path(g)) {
    auto* shared = static_cast<float*>(workspace);
    pool.run([&](int thread) {
      alignas(64) float own[kOwnA];
      const float* a = shared;
      const int64_t steps = ceil_div(g.k, W);
      if (g.trans_b && round_up(g.m, small_group(g.m)) * steps * W <= kOwnA) {
        pack_small_a(g, 0, steps, own);
        a = own;
      } else if (g.trans_b) {
        const Range k = thread_range(steps, thread, pool.size());
        pack_small_a(g, k.begin, k.end, shared);
        pool.barrier();
      }
      const Range blocks = thread_range(ceil_div(g.n, 64), thread, pool.size());
      const int64_t j0 = blocks.begin * 64, j1 = min_of(blocks.end * 64, g.n);
      if (j0 >= j1) return;
      with_elements(g.b, g.b_type, [&](const auto* b) {
        if (g.trans_b)
          small_nt(g, b, a, j0, j1);
        else
          small_nn(g, b, j0, j1);
      });
    });
    return;
  }
  const int64_t b_floats = round_up(b_block_floats(g), 16);
  const int64_t a_floats = a_block_floats(g) + 16 * min_of(kKC, g.k);
  float* shared_b = static_cast<float*>(workspace);
  float* all_a = shared_b + (g.packed_b ? 0 : 2 * b_floats);
  const Grid grid = choose_grid(g.m, g.n, pool.size());
  const int64_t all_panels = ceil_div(g.n, kNR), row_panels = ceil_div(g.m, kMR);
  const int64_t k_step = k_block(g.k);
  pool.run([&](int thread) {
    const Range rows = thread_range(row_panels, thread % grid.rows, grid.rows);
    const int64_t i0 = rows.begin * kMR, i1 = min_of(rows.end * kMR, g.m);
    float* packed_a = all_a + thread * a_floats;
    int turn = 0;
    for (int64_t j0 = 0; j0 < g.n; j0 += kNC) {
      const int64_t panels = ceil_div(min_of(kNC, g.n - j0), kNR);
      const Range mine = thread_range(panels, thread / grid.rows, grid.columns);
      for (int64_t k0 = 0; k0 < g.k; k0 += k_step) {
        const int64_t kc = min_of(k_step, g.k - k0);
        const float* b;
        if (g.packed_b) {
          b = g.packed_b + k0 * all_panels * kNR + j0 * kc;
        } else {
          float* block = shared_b + turn * b_floats;
          turn ^= 1;
          const Range share = thread_range(panels, thread, pool.size());
          with_elements(g.b, g.b_type, [&](const auto* elements) {
            pack_b_panels(elements, g.b_scale, g.ldb, g.trans_b, g.n, j0, k0, kc, share.begin,
                          share.end, block);
          });
          pool.barrier();
          b = block;
        }
        multiply_block(g, i0, i1, j0, mine.begin, mine.end, k0, kc, b, packed_a);
      }
    }
  });
}

}  // namespace hone::cpu::HONE_ISA
