// The loops around a register tile: matrix product after Goto and van de Geijn, "Anatomy of
// High-Performance Matrix Multiplication", ACM TOMS 34(3), 2008.
//
// All threads together pack a block of B (kKC x kNC) into one of two shared buffers, with one barrier for
// each block. Each thread packs its own blocks of A (kMC x kKC, which fit the L2 cache). Threads form a
// grid over rows and columns, and help each other at the end of a block (Share). The template parameter
// `Tiles` has these members:
//
//   kMR, kNR        rows of a tile and of a panel of packed A; columns of a tile and of a panel of packed B
//   kKC, kMC, kNC   the largest block of k, of rows and of columns
//   kStep           blocks of k are multiples of this
//   kPad            the columns of a packed B are rounded up to a multiple of kPad; kPad is a multiple of kNR
//   words(kc)       4-byte words of kc packed elements of a row of A or a column of B
//   pack_a(g, i0, rows, k0, kc, out), pack_b(g, j0, k0, kc, p0, p1, out)
//                   pack all element types except blocks, which are dequantized before (widen.simd.h)
//   tile(kc, a, b, c, ldc, add, turn)   c[kMR, kNR] (=|+=) panel of A times panel of B. `turn` counts the
//                   tiles that use this panel of B. The next panel of B follows in memory, to be prefetched
//   Thread          an object that each thread holds while it multiplies
#pragma once

#include "engine/backends/cpu/gemm/activation.simd.h"
#include "engine/backends/cpu/gemm/widen.simd.h"

namespace hone::cpu::HONE_ISA {
namespace {

HONE_INLINE int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }
HONE_INLINE int64_t round_up(int64_t a, int64_t b) { return ceil_div(a, b) * b; }

// The size of a block of k: k is cut into equal parts of at most kKC.
template <class Tiles>
HONE_INLINE int64_t k_block(int64_t k) {
  return round_up(ceil_div(k, ceil_div(k, Tiles::kKC)), Tiles::kStep);
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

// Applies the epilogue to rows [i0, i0 + rows) and columns [j0, j0 + columns) of C, which hold the finished sums.
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

// The beginning of the part that tile number `turn` prefetches of the panel of B after b. That panel has `words` words;
// `turns` tiles together prefetch all of it.
HONE_INLINE const float* share_of_next(const float* b, int64_t words, int64_t turn, int64_t turns) {
  return b + words + turn % turns * (words / turns);
}

// ---- blocks --------------------------------------------------------------------------------

// Rows [i0, i0 + rows) of A, packed, times panel p of the B block at column j0.
template <class Tiles>
void multiply_panel(const Gemm& g, int64_t i0, int64_t rows, int64_t j0, int64_t p, int64_t k0,
                    int64_t kc, const float* packed_b, const float* packed_a) {
  constexpr int kMR = Tiles::kMR, kNR = Tiles::kNR;
  const int64_t words = Tiles::words(kc);
  const bool add = k0 > 0 || g.accumulate;
  const bool finish = k0 + kc == g.k && has_epilogue(g);
  const int64_t j = j0 + p * kNR, columns = min_of<int64_t>(kNR, g.n - j);
  for (int64_t i = 0; i < rows; i += kMR) {
    const int64_t count = min_of<int64_t>(kMR, rows - i);
    const float* a = packed_a + i * words;
    const float* b = packed_b + p * words * kNR;
    float* c = g.c + (i0 + i) * g.ldc + j;
    if (count == kMR && columns == kNR) {
      Tiles::tile(kc, a, b, c, g.ldc, add, i / kMR);
    } else {
      alignas(64) float edge[kMR * kNR];
      Tiles::tile(kc, a, b, edge, kNR, false, i / kMR);
      for (int64_t r = 0; r < count; ++r)
        for (int64_t q = 0; q < columns; q += W) {
          F x = load(edge + r * kNR + q);
          if (add) x = x + load_n(c + r * g.ldc + q, columns - q);
          store_n(c + r * g.ldc + q, x, columns - q);
        }
    }
    if (finish) epilogue(g, i0 + i, count, j, columns);
  }
}

// The unfinished work of a thread in a block, as units [begin, end): a unit is a panel of B times a block of A.
// The thread takes units from the front, one by one. Threads that are done with their own work take units from the
// back, because cores differ in speed and load. The bits of a unit do not depend on the thread.
class Share {
 public:
  void set(int64_t units) {
    __atomic_store_n(&left_, static_cast<uint64_t>(units) << 32, __ATOMIC_RELAXED);
  }
  Range next() {
    return take([](int64_t) { return int64_t{1}; }, true);
  }
  // Takes half of the units that are left, but at most `most`. Takes none if fewer than 4 are left, because packing A
  // would take longer than the help saves.
  Range steal(int64_t most) {
    return take([most](int64_t count) { return count < 4 ? 0 : min_of(most, count / 2); }, false);
  }

 private:
  template <class Fn>
  Range take(Fn&& many, bool front) {
    uint64_t left = __atomic_load_n(&left_, __ATOMIC_RELAXED);
    for (;;) {
      const int64_t begin = static_cast<uint32_t>(left), end = static_cast<int64_t>(left >> 32);
      const int64_t count = begin < end ? many(end - begin) : 0;
      if (count == 0) return {0, 0};
      const Range taken = front ? Range{begin, begin + count} : Range{end - count, end};
      const uint64_t b = front ? taken.end : begin, e = front ? end : taken.begin;
      if (__atomic_compare_exchange_n(&left_, &left, e << 32 | b, false, __ATOMIC_RELAXED,
                                      __ATOMIC_RELAXED))
        return taken;
    }
  }

  alignas(64) uint64_t left_;
};

struct Grid {
  int rows, columns;
};
// ---- windows of images ---------------------------------------------------------------------

// Writes elements [begin, end) of a row of the matrix of windows to out. The row is the window with (y, x) as
// its first pixel.
HONE_INLINE void gather_window(const Patches& p, const float* image, int64_t y, int64_t x,
                               int64_t begin, int64_t end, float* out) {
  const auto zeros = [&](int64_t count) __attribute__((always_inline)) {
    for_vectors(
        0, count, HONE_VECTOR { put(out + i, zero(), whole, n); });
    out += count;
  };
  const auto copy = [&](const float* from, int64_t count) __attribute__((always_inline)) {
    for_vectors(
        0, count, HONE_VECTOR { put(out + i, get(from + i, whole, n), whole, n); });
    out += count;
  };
  const int64_t line = p.kernel_w * p.channels;  // elements of a row of the window
  // True: the pixels of a row of the window follow each other in memory without gaps.
  const bool runs = p.dilation_w == 1 && p.pixel == p.channels;
  for (int64_t r = begin / line; r * line < end; ++r) {
    const int64_t from = max_of(begin - r * line, int64_t{0}), to = min_of(end - r * line, line);
    const int64_t row = y + r * p.dilation_h;
    if (row < 0 || row >= p.height) {
      zeros(to - from);
      continue;
    }
    const float* pixels = image + row * p.width * p.pixel;
    if (runs) {
      const int64_t first = min_of(max_of(-x * p.channels, from), to),
                    last = max_of(min_of((p.width - x) * p.channels, to), first);
      zeros(first - from);
      copy(pixels + x * p.channels + first, last - first);
      zeros(to - last);
      continue;
    }
    for (int64_t at = from; at < to;) {
      const int64_t s = at / p.channels, c = at - s * p.channels,
                    count = min_of(p.channels - c, to - at), column = x + s * p.dilation_w;
      if (column < 0 || column >= p.width)
        zeros(count);
      else
        copy(pixels + column * p.pixel + c, count);
      at += count;
    }
  }
}

// Writes rows [r0, r1) and columns [c0, c1) of the matrix of windows of `images` to out [r1 - r0, c1 - c0].
void gather_patches(const Patches& p, const float* images, int64_t r0, int64_t r1, int64_t c0,
                    int64_t c1, float* out) {
  const int64_t places = p.out_h * p.out_w;
  int64_t b = r0 / places, i = r0 % places / p.out_w, j = r0 % p.out_w;
  for (int64_t r = r0; r < r1; ++r, out += c1 - c0) {
    gather_window(p, images + b * p.height * p.width * p.pixel, i * p.stride_h - p.top,
                  j * p.stride_w - p.left, c0, c1, out);
    if (++j < p.out_w) continue;
    j = 0;
    if (++i < p.out_h) continue;
    i = 0;
    ++b;
  }
}

// Packs rows [i0, i0 + rows) and columns [k0, k0 + kc) of op(A). scratch: rows * kc floats, used if g.patches is set.
template <class Tiles>
void pack_a_block(const Gemm& g, int64_t i0, int64_t rows, int64_t k0, int64_t kc, float* scratch,
                  float* out) {
  if (g.patches == nullptr) return Tiles::pack_a(g, i0, rows, k0, kc, out);
  const float* images = static_cast<const float*>(g.a);
  Gemm part = g;
  part.a = scratch;
  part.lda = g.trans_a ? rows : kc;
  if (g.trans_a)
    gather_patches(*g.patches, images, k0, k0 + kc, i0, i0 + rows, scratch);
  else
    gather_patches(*g.patches, images, i0, i0 + rows, k0, k0 + kc, scratch);
  Tiles::pack_a(part, 0, rows, 0, kc, out);
}

// Chooses the grid of threads whose busiest thread has the least work. The work of a thread is its tiles and the
// packing of A. Every column of the grid repeats this packing; it counts as one more panel of B.
template <class Tiles>
Grid choose_grid(int64_t m, int64_t n, int threads) {
  const int64_t mp = ceil_div(m, Tiles::kMR), np = ceil_div(min_of(n, Tiles::kNC), Tiles::kNR);
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

template <class Tiles>
int64_t a_block_words(const Gemm& g) {
  const int64_t rows = min_of(Tiles::kMC, round_up(round_up(g.m, 16), Tiles::kMR));
  return round_up(rows * Tiles::words(k_block<Tiles>(g.k)), 16);
}
// The number of floats of a block of A that is gathered from windows, before the block is packed.
template <class Tiles>
int64_t gathered_words(const Gemm& g) {
  if (g.patches == nullptr) return 0;
  return round_up(min_of(Tiles::kMC, round_up(g.m, 16)) * k_block<Tiles>(g.k), 16);
}
template <class Tiles>
int64_t b_block_words(const Gemm& g) {
  if (g.packed_b) return 0;
  return round_up(
      Tiles::words(k_block<Tiles>(g.k)) * min_of(Tiles::kNC, round_up(g.n, Tiles::kPad)), 16);
}
// Each thread has two shares: one for this block, and one for the next, because other threads may still read the first.
constexpr int64_t kShareWords = 2 * sizeof(Share) / sizeof(float);
template <class Tiles>
int64_t block_words(const Gemm& g, int threads) {
  return 2 * b_block_words<Tiles>(g) +
         threads * (a_block_words<Tiles>(g) + gathered_words<Tiles>(g) + kShareWords);
}

// gemm() by blocks, for m, n, k > 0.
template <class Tiles>
void multiply_blocks(const Gemm& g, void* workspace, ThreadPool& pool) {
  constexpr int kMR = Tiles::kMR, kNR = Tiles::kNR;
  const int64_t b_words = b_block_words<Tiles>(g), gathered = gathered_words<Tiles>(g),
                a_words = a_block_words<Tiles>(g) + gathered;
  const int threads = pool.size();
  float* shared_b = static_cast<float*>(workspace);
  float* all_a = shared_b + 2 * b_words;
  Share* all_shares = reinterpret_cast<Share*>(all_a + threads * a_words);
  const Grid grid = choose_grid<Tiles>(g.m, g.n, threads);
  const int64_t all_panels = ceil_div(g.n, kNR), row_panels = ceil_div(g.m, kMR);
  const int64_t k_step = k_block<Tiles>(g.k);
  auto rows_of = [&](int thread) {
    const Range panels = thread_range(row_panels, thread % grid.rows, grid.rows);
    return Range{panels.begin * kMR, min_of(panels.end * kMR, g.m)};
  };
  pool.run([&](int self) {
    [[maybe_unused]] const typename Tiles::Thread held;
    float* packed_a = all_a + self * a_words;
    int turn = 0;
    for (int64_t j0 = 0; j0 < g.n; j0 += Tiles::kNC) {
      const int64_t panels = ceil_div(min_of(Tiles::kNC, g.n - j0), kNR);
      auto columns_of = [&](int thread) {
        return thread_range(panels, thread / grid.rows, grid.columns);
      };
      for (int64_t k0 = 0; k0 < g.k; k0 += k_step) {
        const int64_t kc = min_of(k_step, g.k - k0);
        Share* shares = all_shares + turn * threads;
        const float* b;
        if (g.packed_b) {
          b = g.packed_b + k0 * all_panels * kNR + j0 * kc;
        } else {
          float* block = shared_b + turn * b_words;
          const Range packed = thread_range(panels, self, threads);
          if (g.b_type == Element::blocks)
            pack_widened<Tiles>(g, j0, k0, kc, packed.begin, packed.end, block);
          else
            Tiles::pack_b(g, j0, k0, kc, packed.begin, packed.end, block);
          b = block;
        }
        turn ^= 1;
        const Range rows = rows_of(self), columns = columns_of(self);
        shares[self].set(ceil_div(rows.end - rows.begin, Tiles::kMC) *
                         (columns.end - columns.begin));
        pool.barrier();
        int64_t in_packed_a = -1;  // first row
        auto multiply = [&](int owner, Range units) {
          const Range his = rows_of(owner), panel = columns_of(owner);
          const int64_t width = panel.end - panel.begin;
          for (int64_t u = units.begin; u < units.end; ++u) {
            const int64_t i = his.begin + u / width * Tiles::kMC;
            const int64_t count = min_of(Tiles::kMC, his.end - i);
            if (in_packed_a != i)
              pack_a_block<Tiles>(g, i, count, k0, kc, packed_a + a_words - gathered, packed_a);
            in_packed_a = i;
            multiply_panel<Tiles>(g, i, count, j0, panel.begin + u % width, k0, kc, b, packed_a);
          }
        };
        for (Range one = shares[self].next(); one.begin < one.end; one = shares[self].next())
          multiply(self, one);
        for (int other = (self + 1) % threads; other != self; other = (other + 1) % threads) {
          const Range theirs = columns_of(other);
          const int64_t width = max_of<int64_t>(1, theirs.end - theirs.begin);
          for (;;) {
            const Range some = shares[other].steal(width);
            if (some.begin == some.end) break;
            multiply(other, some);
          }
        }
      }
    }
  });
}

// ---- one thread ----------------------------------------------------------------------------

// The number of rows of A, and of panels of B, that one thread packs at a time.
template <class Tiles>
constexpr int64_t kRowsAlone = kGemmColumnsRows / Tiles::kMC* Tiles::kMC;
constexpr int64_t kPanelsAlone = 4;

template <class Tiles>
struct WordsAlone {
  int64_t a, b, gathered;
  explicit WordsAlone(const Gemm& g) {
    const int64_t kc = k_block<Tiles>(g.k), columns = kPanelsAlone * Tiles::kNR;
    a = round_up(
        min_of(kRowsAlone<Tiles>, round_up(round_up(g.m, 16), Tiles::kMR)) * Tiles::words(kc), 16);
    b = round_up(columns * Tiles::words(kc), 16);
    gathered = g.b_patches == nullptr ? 0 : round_up(columns * kc, 16);
  }
};

// gemm_columns(), for m, n, k > 0.
template <class Tiles>
void multiply_columns(const Gemm& all, int64_t begin, int64_t end, float* workspace) {
  [[maybe_unused]] const typename Tiles::Thread held;
  const WordsAlone<Tiles> words(all);
  float* packed_a = workspace;
  float* packed_b = packed_a + words.a;
  float* gathered = packed_b + words.b;
  Gemm g = all;
  g.n = end;
  const int64_t step = k_block<Tiles>(g.k), columns = kPanelsAlone * Tiles::kNR;
  for (int64_t k0 = 0; k0 < g.k; k0 += step) {
    const int64_t kc = min_of(step, g.k - k0);
    for (int64_t i0 = 0; i0 < g.m; i0 += kRowsAlone<Tiles>) {
      const int64_t rows = min_of(kRowsAlone<Tiles>, g.m - i0);
      for (int64_t i = 0; i < rows; i += Tiles::kMC)
        Tiles::pack_a(g, i0 + i, min_of(Tiles::kMC, rows - i), k0, kc,
                      packed_a + i * Tiles::words(kc));
      for (int64_t j0 = begin; j0 < end; j0 += columns) {
        const int64_t width = min_of(columns, end - j0), panels = ceil_div(width, Tiles::kNR);
        if (g.b_patches != nullptr) {
          gather_patches(*g.b_patches, static_cast<const float*>(g.b), k0, k0 + kc, j0, j0 + width,
                         gathered);
          Gemm part = g;
          part.b = gathered;
          part.ldb = part.n = width;
          Tiles::pack_b(part, 0, 0, kc, 0, panels, packed_b);
        } else {
          Tiles::pack_b(g, j0, k0, kc, 0, panels, packed_b);
        }
        for (int64_t p = 0; p < panels; ++p)
          multiply_panel<Tiles>(g, i0, rows, j0, p, k0, kc, packed_b, packed_a);
      }
    }
  }
}

}  // namespace
}  // namespace hone::cpu::HONE_ISA
