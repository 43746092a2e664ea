// The matrix product in f32: by blocks (gemm_blocks.simd.h), or, if A has few rows, in one pass over B
// at the memory's speed.
#include "engine/backends/cpu/gemm/gemm_block_dots.simd.h"
#include "engine/backends/cpu/gemm/gemm_few_rows.simd.h"
#include "engine/backends/cpu/gemm/gemm_i8.simd.h"

namespace hone::cpu::HONE_ISA {
namespace {

// Calls f(b) with b as a pointer to its element type. Does nothing for blocks, which are dequantized separately.
template <class Fn>
HONE_INLINE void with_elements(const void* b, Element type, Fn&& f) {
  if (type == Element::i8) return f(static_cast<const int8_t*>(b));
  if (type != Element::blocks) with_floats(b, type, f);
}
// Whether B has a scale for each column.
template <class T>
constexpr bool kScaled = std::is_same_v<T, int8_t>;

// Adds the products of A with eight rows of B [k,n], from row k on, to V vectors of columns of C, from column j on.
// Whole: the vectors have all W lanes; else V is 1, and there are n columns.
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
      __builtin_prefetch(from + 8 * g.ldb, 0, kToL2);
      bv[r][v] = Whole ? load(from) : load_n(from, n);
      if constexpr (kScaled<T>) bv[r][v] = bv[r][v] * scale[v];
    });
  });
  const float* a = floats_of_a(g) + k;
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

// Columns [j0, j1) of C for B [k,n], without the epilogue. A block of C stays in the L1 cache while all rows of B are
// read, eight at a time.
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
          store_n(c, fma(set1(floats_of_a(g)[i * g.lda + k]), bv, load_n(c, je - j)), je - j);
        }
      }
  }
}

// small_nn() for a B in blocks. k0: the first row of B to use. Eight rows are dequantized at a time.
void small_nn_widened(const Gemm& g, int64_t k0, int64_t j0, int64_t j1) {
  constexpr int64_t kColumns = 1024;
  alignas(64) float wide[8 * kColumns];
  for (int64_t j = j0; j < j1; j += kColumns) {
    Gemm part = g;
    part.n = min_of(kColumns, j1 - j);
    part.ldb = kColumns;
    part.c = g.c + j;
    for (int64_t k = 0; k < g.k; k += 8) {
      part.k = min_of<int64_t>(8, g.k - k);
      part.a = floats_of_a(g) + k;
      part.accumulate = k > 0 || g.accumulate;
      for (int64_t r = 0; r < part.k; ++r)
        widen(*g.blocks, g.b, k0 + k + r, j, part.n, wide + r * kColumns);
      small_nn(part, wide, 0, part.n);
    }
  }
}

// Threads divide the columns in blocks of this number.
constexpr int64_t kSmallColumns = 64;
HONE_INLINE Range small_columns(const Gemm& g, int64_t begin, int64_t end) {
  return {begin * kSmallColumns, min_of(end * kSmallColumns, g.n)};
}

// The first half of k. The two halves have separate sums, for any number of threads, so that two threads can read rows
// of B that are far apart. If they read the same rows, each its own columns, memory is a fifth slower.
HONE_INLINE int64_t first_half(int64_t k) { return k < 64 ? k : round_up(k / 2, 8); }

// Unused floats before and after the sums of the second half. Processors prefetch the cache line after the rows of C;
// the gap keeps them from taking lines to which another thread is adding.
constexpr int64_t kGap = 1024;

void multiply_small_nn(const Gemm& g, float* workspace, ThreadPool& pool) {
  float* second_sums = workspace + kGap;
  const int64_t blocks = ceil_div(g.n, kSmallColumns), k = first_half(g.k);
  Gemm first = g, second = g;
  first.k = k;
  second.k = g.k - k;
  second.a = floats_of_a(g) + k;
  second.c = second_sums;
  second.ldc = g.n;
  second.accumulate = false;
  pool.run([&](int thread) {
    const Range mine = thread_range(second.k > 0 ? 2 * blocks : blocks, thread, pool.size());
    const Range one = small_columns(g, mine.begin, min_of(mine.end, blocks));
    const Range two = small_columns(g, max_of(mine.begin, blocks) - blocks, mine.end - blocks);
    if (g.b_type == Element::blocks) {
      small_nn_widened(first, 0, one.begin, one.end);
      small_nn_widened(second, k, two.begin, two.end);
    }
    with_elements(g.b, g.b_type, [&](const auto* b) {
      small_nn(first, b, one.begin, one.end);
      small_nn(second, b + k * g.ldb, two.begin, two.end);
    });
    pool.barrier();
    const Range some = thread_range(blocks, thread, pool.size()),
                all = small_columns(g, some.begin, some.end);
    if (second.k > 0)
      for (int64_t i = 0; i < g.m; ++i)
        for (int64_t j = all.begin; j < all.end; j += W) {
          float* c = g.c + i * g.ldc + j;
          const int64_t count = all.end - j;
          store_n(c, load_n(c, count) + load_n(second_sums + i * g.n + j, count), count);
        }
    if (has_epilogue(g)) epilogue(g, 0, g.m, all.begin, all.end - all.begin);
  });
}

// The number of rows of A that are multiplied with a row of B when it is read, for a product of m rows.
HONE_INLINE int64_t small_group(int64_t m) {
  return m == 1 ? 1 : m == 2 ? 2 : m <= 4 || W < 16 ? 4 : 8;
}

// Packs steps [k0, k1) of W elements of A, as [groups][k / W][group][W] with zeros after the end. (Unpacked rows that
// are a power of two apart would share cache sets.)
void pack_small_a(const Gemm& g, int64_t k0, int64_t k1, float* out) {
  const int64_t group = small_group(g.m), steps = ceil_div(g.k, W);
  for (int64_t i = 0; i < g.m; i += group)
    for (int64_t s = k0; s < k1; ++s)
      for (int64_t r = 0; r < group; ++r)
        store(out + (i * steps + s * group + r) * W,
              i + r < g.m ? load_n(floats_of_a(g) + (i + r) * g.lda + s * W, g.k - s * W) : zero());
}

// Dot products over k of R packed rows of A, from row i, with Q rows of B [n,k]: j, j + step, j + 2 step, .. Each has U
// partial sums.
template <int R, int Q, int U, class T>
HONE_INLINE void dots(const Gemm& g, const T* all_b, const float* a, int64_t i, int64_t j,
                      int64_t step) {
  F acc[R][Q][U];
  unroll<R>(HONE_LAMBDA(r) {
    unroll<Q>(HONE_LAMBDA(q) { unroll<U>(HONE_LAMBDA(u) { acc[r][q][u] = zero(); }); });
  });
  const T* b = all_b + j * g.ldb;
  const int64_t apart = step * g.ldb;
  auto add = [&](int64_t k, auto u, auto whole) __attribute__((always_inline)) {
    F bv[Q];
    unroll<Q>(HONE_LAMBDA(q) {
      bv[q] = get(b + q * apart + k, whole, g.k - k);
      if constexpr (decltype(whole)::value)
        __builtin_prefetch(b + q * apart + k + 4096 / sizeof(T), 0, kToL2);
    });
    unroll<R>(HONE_LAMBDA(r) {
      const F av = load(a + k * R + r * W);
      unroll<Q>(HONE_LAMBDA(q) { acc[r][q][u] = fma(av, bv[q], acc[r][q][u]); });
    });
  };
  int64_t k = 0;
  for (; k + U * W <= g.k; k += U * W)
    unroll<U>(HONE_LAMBDA(u) { add(k + u * W, u, std::true_type{}); });
  for (; k < g.k; k += W) add(k, std::integral_constant<int, 0>{}, std::false_type{});
  unroll<R>(HONE_LAMBDA(r) {
    unroll<Q>(HONE_LAMBDA(q) {
      F sum = acc[r][q][0];
      unroll<U - 1>(HONE_LAMBDA(u) { sum = sum + acc[r][q][u + 1]; });
      const int64_t column = j + q * step;
      float* c = g.c + (i + r) * g.ldc + column;
      if constexpr (kScaled<T>) sum = sum * set1(g.b_scale[column]);
      if (i + r < g.m) *c = reduce_add(sum) + (g.accumulate ? *c : 0.0f);
    });
  });
}

// Columns [j0, j1) of C. The Q rows of B that are read at the same time are far apart, because memory delivers several
// streams faster than one.
template <int R, int Q, int U, class T>
void dot_rows(const Gemm& g, const T* b, const float* a, int64_t j0, int64_t j1) {
  const int64_t floats = ceil_div(g.k, W) * W, step = (j1 - j0) / Q;
  for (int64_t j = j0; j < j0 + step; ++j)
    for (int64_t i = 0; i < g.m; i += R) dots<R, Q, U>(g, b, a + i * floats, i, j, step);
  for (int64_t j = j0 + Q * step; j < j1; ++j)
    for (int64_t i = 0; i < g.m; i += R) dots<R, 1, U>(g, b, a + i * floats, i, j, 1);
}

// Columns [j0, j1) of C for B [n,k], with the epilogue. a: from pack_small_a().
template <class T>
void small_nt(const Gemm& g, const T* b, const float* a, int64_t j0, int64_t j1) {
  constexpr int kStreams = W == 16 ? 4 : 2;
  const bool a_in_l1 = g.m * g.k <= 8192;
  switch (small_group(g.m)) {
    case 1:
      dot_rows<1, kStreams, 4>(g, b, a, j0, j1);
      break;
    case 2:
      dot_rows<2, W == 16 ? 2 : 1, 4>(g, b, a, j0, j1);
      break;
    case 4:
      if (a_in_l1)
        dot_rows<4, W == 16 ? 2 : 1, 2>(g, b, a, j0, j1);
      else
        dot_rows<4, 2, W == 16 ? 2 : 1>(g, b, a, j0, j1);
      break;
    default:
      if constexpr (W == 16) {
        if (a_in_l1)
          dot_rows<8, 2, 1>(g, b, a, j0, j1);
        else
          dot_rows<8, 3, 1>(g, b, a, j0, j1);
      }
  }
  if (has_epilogue(g)) epilogue(g, 0, g.m, j0, j1 - j0);
}

// Whether B is in blocks that block_columns() does not read.
HONE_INLINE bool is_widened(const Gemm& g) {
  using Kind = Blocks::Kind;
  return g.b_type == Element::blocks &&
         (g.blocks->kind == Kind::code4 || g.blocks->kind == Kind::i8 ||
          g.blocks->kind == Kind::f16 || g.blocks->kind == Kind::bf16);
}

// small_nt() for a B for which is_widened() is true. kWideDots of its rows are dequantized at a time, into `wide`.
constexpr int64_t kWideDots = 8;
void small_nt_widened(const Gemm& g, const float* a, int64_t j0, int64_t j1, float* wide) {
  Gemm part = g;
  part.ldb = round_up(g.k, 16);
  const auto moved = [](auto* p, int64_t by) { return p == nullptr ? p : p + by; };
  for (int64_t j = j0; j < j1; j += kWideDots) {
    const int64_t rows = min_of(kWideDots, j1 - j);
    for (int64_t r = 0; r < rows; ++r) widen(*g.blocks, g.b, j + r, 0, g.k, wide + r * part.ldb);
    part.n = rows;
    part.c = g.c + j;
    part.bias = moved(g.bias, j);
    part.pre = moved(g.pre, j);
    part.residual = moved(g.residual, j);
    small_nt(part, wide, a, 0, rows);
  }
}

// If A has at most this number of floats, every thread packs all of A for itself. This takes less time than waiting
// for the other threads.
constexpr int64_t kOwnA = 8192;

HONE_INLINE int64_t small_a_words(const Gemm& g) { return round_up(g.m, 16) * round_up(g.k, 16); }
HONE_INLINE int64_t small_wide_words(const Gemm& g) {  // of each thread
  return g.b_type == Element::blocks ? kWideDots * round_up(g.k, 16) : 0;
}

void multiply_small_nt(const Gemm& g, float* shared, ThreadPool& pool) {
  pool.run([&](int thread) {
    alignas(64) float own[kOwnA];
    const float* a = shared;
    const int64_t steps = ceil_div(g.k, W);
    if (round_up(g.m, small_group(g.m)) * steps * W <= kOwnA) {
      pack_small_a(g, 0, steps, own);
      a = own;
    } else {
      const Range k = thread_range(steps, thread, pool.size());
      pack_small_a(g, k.begin, k.end, shared);
      pool.barrier();
    }
    const Range mine = thread_range(ceil_div(g.n, kSmallColumns), thread, pool.size()),
                columns = small_columns(g, mine.begin, mine.end);
    if (columns.begin >= columns.end) return;
    if (is_widened(g))
      return small_nt_widened(g, a, columns.begin, columns.end,
                              shared + small_a_words(g) + thread * small_wide_words(g));
    if (g.b_type == Element::blocks) {
      block_columns(g, small_group(g.m), a, columns.begin, columns.end);
      if (has_epilogue(g)) epilogue(g, 0, g.m, columns.begin, columns.end - columns.begin);
      return;
    }
    with_elements(g.b, g.b_type,
                  [&](const auto* b) { small_nt(g, b, a, columns.begin, columns.end); });
  });
}

void multiply_small(const Gemm& g, float* workspace, ThreadPool& pool) {
  g.trans_b ? multiply_small_nt(g, workspace, pool) : multiply_small_nn(g, workspace, pool);
}

// Workspace for an A that is rounded because B is in i8.
HONE_INLINE int64_t rounded_words(const Gemm& g) {
  return g.b_type == Element::i8 ? round_up(g.m * g.k, 16) : 0;
}
void multiply_small_i8(Gemm g, float* workspace, ThreadPool& pool) {
  const float* a = floats_of_a(g);
  parallel_items(pool, g.m, g.k, [&](int64_t i0, int64_t i1, int) {
    for (int64_t i = i0; i < i1; ++i) I8Tiles::round_row(a + i * g.lda, g.k, workspace + i * g.k);
  });
  const int64_t words = rounded_words(g);
  g.a = workspace;
  g.lda = g.k;
  multiply_small(g, workspace + words, pool);
}

bool takes_small_path(const Gemm& g) {
  const int64_t rows = g.rows_like > 0 ? g.rows_like : g.m;
  return g.packed_b == nullptr && g.patches == nullptr && rows <= kGemmSmallRows && !g.trans_a;
}

}  // namespace

int64_t gemm_f32_workspace_bytes(const Gemm& g, int threads) {
  if (g.m <= 0 || g.n <= 0 || g.k <= 0) return 0;
  if (takes_small_path(g)) {
    const int64_t rounded = rounded_words(g);
    if (g.trans_b) return 4 * (rounded + small_a_words(g) + threads * small_wide_words(g));
    return 4 * (rounded + (first_half(g.k) < g.k ? g.m * g.n + 2 * kGap : 0));
  }
  if (g.b_type == Element::i8) return 4 * block_words<I8Tiles>(g, threads);
  if (takes_few_rows_path(g)) return 4 * few_rows_words(g, threads);
  return 4 * block_words<FloatTiles>(g, threads);
}

int64_t pack_b_bytes(int64_t k, int64_t n) { return 4 * k * round_up(n, kPad); }

// The packed layout: blocks of k_block(k) rows after each other, each as [panels][kc][kNR].
void pack_b(int64_t k, int64_t n, const float* b, int64_t ldb, bool trans_b, float* packed,
            ThreadPool& pool) {
  if (k <= 0 || n <= 0) return;
  const int64_t panels = ceil_div(n, kNR), step = k_block<FloatTiles>(k);
  pool.parallel_for(panels, [&](int64_t p0, int64_t p1, int) {
    for (int64_t k0 = 0; k0 < k; k0 += step)
      pack_b_panels(b, ldb, trans_b, n, 0, k0, min_of(step, k - k0), p0, p1,
                    packed + k0 * panels * kNR);
  });
}

void widen_blocks(const Blocks& b, const void* payload, int64_t rows, float* out,
                  ThreadPool& pool) {
  pool.parallel_for(rows, [&](int64_t begin, int64_t end, int) {
    for (int64_t r = begin; r < end; ++r) widen(b, payload, r, 0, b.columns, out + r * b.columns);
  });
}

void widen_part(const Blocks& b, const void* payload, int64_t row, int64_t rows, int64_t column,
                int64_t columns, float* out) {
  for (int64_t r = 0; r < rows; ++r) widen(b, payload, row + r, column, columns, out + r * columns);
}

void widen_rows(const Blocks& b, const void* payload, int64_t rows, const int32_t* ids,
                int64_t count, float* out, ThreadPool& pool) {
  pool.parallel_for(count, [&](int64_t begin, int64_t end, int) {
    for (int64_t t = begin; t < end; ++t) {
      float* to = out + t * b.columns;
      if (ids[t] >= 0 && ids[t] < rows)
        widen(b, payload, ids[t], 0, b.columns, to);
      else
        memset(to, 0, b.columns * sizeof(float));
    }
  });
}

int64_t gemm_columns_f32_bytes(const Gemm& g) {
  const WordsAlone<FloatTiles> words(g);  // F16Tiles need the same number
  return 4 * (words.a + words.b + words.gathered);
}
void gemm_columns_f32(const Gemm& g, int64_t begin, int64_t end, void* workspace) {
  if (g.f16)
    multiply_columns<F16Tiles>(g, begin, end, static_cast<float*>(workspace));
  else
    multiply_columns<FloatTiles>(g, begin, end, static_cast<float*>(workspace));
}

int64_t gemm_f16_workspace_bytes(const Gemm& g, int threads) {
  return g.m <= 0 || g.n <= 0 || g.k <= 0 ? 0 : 4 * block_words<F16Tiles>(g, threads);
}

void gemm_f16(const Gemm& g, void* workspace, ThreadPool& pool) {
  multiply_blocks<F16Tiles>(g, workspace, pool);
}

void gemm_f32(const Gemm& g, void* workspace, ThreadPool& pool) {
  if (g.m <= 0 || g.n <= 0) return;
  if (g.k <= 0) {  // an empty sum
    pool.parallel_for(g.m, [&](int64_t i0, int64_t i1, int) {
      if (!g.accumulate)
        for (int64_t i = i0; i < i1; ++i) memset(g.c + i * g.ldc, 0, g.n * sizeof(float));
      if (has_epilogue(g)) epilogue(g, i0, i1 - i0, 0, g.n);
    });
    return;
  }
  if (takes_small_path(g))
    return g.b_type == Element::i8 ? multiply_small_i8(g, static_cast<float*>(workspace), pool)
                                   : multiply_small(g, static_cast<float*>(workspace), pool);
  if (g.b_type == Element::i8) return multiply_blocks<I8Tiles>(g, workspace, pool);
  if (takes_few_rows_path(g)) return multiply_few_rows(g, static_cast<float*>(workspace), pool);
  multiply_blocks<FloatTiles>(g, workspace, pool);
}

}  // namespace hone::cpu::HONE_ISA
