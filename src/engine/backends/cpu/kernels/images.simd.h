// Batch norms, scales of columns and blocks, max pools and depthwise convolutions. Batch norms sum over parts of the
// rows, called leaves.
#include "engine/backends/cpu/isa/simd.h"
#include "engine/backends/cpu/kernels/images.h"

namespace hone::cpu::HONE_ISA {
namespace {

// ---- batch norm ----------------------------------------------------------------------------

// Rows of a leaf: few enough to stay in the cache between two passes over them.
HONE_INLINE int64_t leaf_rows(int64_t columns) {
  return max_of<int64_t>(16, 16384 / max_of<int64_t>(1, columns));
}
HONE_INLINE int64_t leaf_count(int64_t rows, int64_t columns) {
  const int64_t leaf = leaf_rows(columns);
  return (rows + leaf - 1) / leaf;
}
HONE_INLINE int64_t whole_lines(int64_t columns) { return (columns + 15) / 16 * 16; }

// Calls f(j, vectors, whole, n) for all columns: kBlock whole vectors from column j on, or one vector if fewer are left
// (n: the number of columns left).
constexpr int kBlock = 4;
template <class Fn>
HONE_INLINE void for_column_blocks(int64_t columns, Fn&& f) {
  int64_t j = 0;
  for (; j + kBlock * W <= columns; j += kBlock * W)
    f(j, std::integral_constant<int, kBlock>{}, std::true_type{}, int64_t{W});
  for (; j < columns; j += W)
    f(j, std::integral_constant<int, 1>{}, std::false_type{}, columns - j);
}
#define HONE_COLUMNS \
  [&](int64_t j, auto vectors, auto whole, int64_t n) __attribute__((always_inline))

// The mean of each column over rows [begin, end), and the sum of squared distances from the mean.
void leaf_moments(const float* x, int64_t columns, int64_t begin, int64_t end, float* mean,
                  float* squares) {
  const float share = 1.0f / static_cast<float>(end - begin);
  for_column_blocks(
      columns, HONE_COLUMNS {
        constexpr int V = decltype(vectors)::value;
        F sum[V], square[V];
        unroll<V>(HONE_LAMBDA(v) { sum[v] = square[v] = zero(); });
        for (int64_t r = begin; r < end; ++r)
          unroll<V>(
              HONE_LAMBDA(v) { sum[v] = sum[v] + get(x + r * columns + j + v * W, whole, n); });
        unroll<V>(HONE_LAMBDA(v) { sum[v] = sum[v] * set1(share); });
        for (int64_t r = begin; r < end; ++r)
          unroll<V>(HONE_LAMBDA(v) {
            const F apart = get(x + r * columns + j + v * W, whole, n) - sum[v];
            square[v] = fma(apart, apart, square[v]);
          });
        unroll<V>(HONE_LAMBDA(v) {
          put(mean + j + v * W, sum[v], whole, n);
          put(squares + j + v * W, square[v], whole, n);
        });
      });
}

// Combines the moments of all leaves into mean and variance, for columns [j0, j1): Chan, Golub and LeVeque, "Updating
// Formulae and a Pairwise Algorithm for Computing Sample Variances", 1979.
void join_moments(const BatchNorm& n, const float* parts, int64_t j0, int64_t j1) {
  const int64_t leaf = leaf_rows(n.columns), leaves = leaf_count(n.counted, n.columns),
                stride = whole_lines(n.columns);
  for (int64_t j = j0; j < j1; j += W) {
    F mean = zero(), squares = zero();
    for (int64_t k = 0; k < leaves; ++k) {
      const int64_t before = k * leaf, more = min_of(leaf, n.counted - before);
      const float* part = parts + 2 * k * stride + j;
      const float all = static_cast<float>(before + more), share = static_cast<float>(more) / all;
      const F apart = load_n(part, j1 - j) - mean;
      mean = fma(apart, set1(share), mean);
      squares = squares + load_n(part + stride, j1 - j) +
                apart * apart * set1(static_cast<float>(before) * share);
    }
    store_n(n.mean + j, mean, j1 - j);
    store_n(n.variance + j, squares * set1(1.0f / static_cast<float>(n.counted)), j1 - j);
  }
}

// The columns of a thread, in whole vectors.
HONE_INLINE Range own_columns(int64_t columns, int thread, int threads) {
  const Range mine = thread_range((columns + W - 1) / W, thread, threads);
  return {mine.begin * W, min_of(mine.end * W, columns)};
}

// The vector of dy at `at`, with zeros where the relu was 0 (BatchNormBackward::y).
template <class Whole>
HONE_INLINE F counting_dy(const BatchNormBackward& g, int64_t at, Whole whole, int64_t n) {
  const F d = get(g.dy + at, whole, n);
  return g.y == nullptr ? d : select(get(g.y + at, whole, n) > zero(), d, zero());
}

// Sums of dy and of dy (x - mean) over rows [begin, end).
void leaf_gradients(const BatchNormBackward& g, int64_t begin, int64_t end, float* dbeta,
                    float* dgamma) {
  const int64_t columns = g.columns;
  for_column_blocks(
      columns, HONE_COLUMNS {
        constexpr int V = decltype(vectors)::value;
        F sum[V], product[V], mean[V];
        unroll<V>(HONE_LAMBDA(v) {
          sum[v] = product[v] = zero();
          mean[v] = get(g.mean + j + v * W, whole, n);
        });
        for (int64_t r = begin; r < end; ++r)
          unroll<V>(HONE_LAMBDA(v) {
            const F d = counting_dy(g, r * columns + j + v * W, whole, n);
            if (g.dresidual != nullptr) put(g.dresidual + r * columns + j + v * W, d, whole, n);
            sum[v] = sum[v] + d;
            product[v] = fma(d, get(g.x + r * columns + j + v * W, whole, n) - mean[v], product[v]);
          });
        unroll<V>(HONE_LAMBDA(v) {
          put(dbeta + j + v * W, sum[v], whole, n);
          put(dgamma + j + v * W, product[v], whole, n);
        });
      });
}

HONE_INLINE F rstd_of(F variance, float eps) { return set1(1.0f) / sqrt(variance + set1(eps)); }

// Adds the sums of all leaves into dgamma and dbeta, for columns [j0, j1), and computes the factors a, b and c of
// dx = a dy + b (x - mean) + c.
void join_gradients(const BatchNormBackward& g, const float* parts, int64_t j0, int64_t j1,
                    float* factors) {
  const int64_t leaves = leaf_count(g.counted, g.columns), stride = whole_lines(g.columns);
  const F share = set1(1.0f / (g.given ? g.all_rows : static_cast<float>(g.counted)));
  for (int64_t j = j0; j < j1; j += W) {
    const int64_t n = j1 - j;
    const F rstd = rstd_of(load_n(g.variance + j, n), g.eps);
    if (!g.given) {
      F sum = zero(), product = zero();
      for (int64_t k = 0; k < leaves; ++k) {
        sum = sum + load_n(parts + 2 * k * stride + j, n);
        product = product + load_n(parts + (2 * k + 1) * stride + j, n);
      }
      store_n(g.dbeta + j, sum, n);
      store_n(g.dgamma + j, product * rstd, n);
    }
    if (g.dx == nullptr) continue;
    const F dbeta = load_n(g.dbeta + j, n), dgamma = load_n(g.dgamma + j, n);
    const F a = load_n(g.gamma + j, n) * rstd;
    store_n(factors + j, a, n);
    store_n(factors + stride + j, zero() - a * rstd * dgamma * share, n);
    store_n(factors + 2 * stride + j, zero() - a * dbeta * share, n);
  }
}

// Computes y of rows [begin, end). scale: gamma / sqrt(variance + eps).
void apply_norm(const BatchNorm& b, const float* scale, int64_t begin, int64_t end) {
  for_column_blocks(
      b.columns, HONE_COLUMNS {
        constexpr int V = decltype(vectors)::value;
        F mean[V], by[V], beta[V];
        unroll<V>(HONE_LAMBDA(v) {
          mean[v] = get(b.mean + j + v * W, whole, n);
          by[v] = get(scale + j + v * W, whole, n);
          beta[v] = get(b.beta + j + v * W, whole, n);
        });
        for (int64_t r = begin; r < end; ++r)
          unroll<V>(HONE_LAMBDA(v) {
            const int64_t at = r * b.columns + j + v * W;
            F y = fma(get(b.x + at, whole, n) - mean[v], by[v], beta[v]);
            if (b.residual != nullptr) y = y + get(b.residual + at, whole, n);
            if (b.relu) y = max(y, zero());
            put(b.y + at, y, whole, n);
          });
      });
}

// Computes dx of rows [begin, end) from the factors of join_gradients().
void gradients_of_rows(const BatchNormBackward& g, const float* factors, int64_t begin,
                       int64_t end) {
  const int64_t stride = whole_lines(g.columns);
  for_column_blocks(
      g.columns, HONE_COLUMNS {
        constexpr int V = decltype(vectors)::value;
        F mean[V], a[V], b[V], c[V];
        unroll<V>(HONE_LAMBDA(v) {
          mean[v] = get(g.mean + j + v * W, whole, n);
          a[v] = get(factors + j + v * W, whole, n);
          b[v] = get(factors + stride + j + v * W, whole, n);
          c[v] = get(factors + 2 * stride + j + v * W, whole, n);
        });
        for (int64_t r = begin; r < end; ++r)
          unroll<V>(HONE_LAMBDA(v) {
            const int64_t at = r * g.columns + j + v * W;
            const F apart = get(g.x + at, whole, n) - mean[v];
            const bool written = g.dresidual != nullptr && !g.given;  // by leaf_gradients
            const F dy = written ? get(g.dresidual + at, whole, n) : counting_dy(g, at, whole, n);
            if (g.dresidual != nullptr && g.given) put(g.dresidual + at, dy, whole, n);
            put(g.dx + at, fma(dy, a[v], fma(apart, b[v], c[v])), whole, n);
          });
      });
}

}  // namespace

int64_t batch_norm_workspace_bytes(int64_t rows, int64_t columns) {
  return 4 * (2 * leaf_count(rows, columns) + 1) * whole_lines(columns);
}

void batch_norm(const BatchNorm& n, void* workspace, ThreadPool& pool) {
  const int64_t stride = whole_lines(n.columns), leaf = leaf_rows(n.columns);
  float* scale = static_cast<float*>(workspace);
  float* parts = scale + stride;
  pool.run([&](int thread) {
    const int64_t leaves = n.given ? 0 : leaf_count(n.counted, n.columns);
    const Range mine = thread_range(leaves, thread, pool.size());
    for (int64_t k = mine.begin; k < mine.end; ++k) {
      float* part = parts + 2 * k * stride;
      leaf_moments(n.x, n.columns, k * leaf, min_of((k + 1) * leaf, n.counted), part,
                   part + stride);
    }
    pool.barrier();
    const Range c = own_columns(n.columns, thread, pool.size());
    if (!n.given) join_moments(n, parts, c.begin, c.end);
    if (n.y == nullptr) return;
    for (int64_t j = c.begin; j < c.end; j += W)
      store_n(scale + j,
              load_n(n.gamma + j, c.end - j) * rstd_of(load_n(n.variance + j, c.end - j), n.eps),
              c.end - j);
    pool.barrier();
    const Range mine_too = thread_range(leaf_count(n.rows, n.columns), thread, pool.size());
    for (int64_t k = mine_too.begin; k < mine_too.end; ++k)
      apply_norm(n, scale, k * leaf, min_of((k + 1) * leaf, n.rows));
  });
}

int64_t batch_norm_backward_workspace_bytes(int64_t rows, int64_t columns) {
  return 4 * (2 * leaf_count(rows, columns) + 3) * whole_lines(columns);
}

void batch_norm_backward(const BatchNormBackward& g, void* workspace, ThreadPool& pool) {
  const int64_t stride = whole_lines(g.columns), leaf = leaf_rows(g.columns);
  float* factors = static_cast<float*>(workspace);
  float* parts = factors + 3 * stride;
  pool.run([&](int thread) {
    const int64_t leaves = g.given ? 0 : leaf_count(g.counted, g.columns);
    const Range mine = thread_range(leaves, thread, pool.size());
    for (int64_t k = mine.begin; k < mine.end; ++k) {
      float* part = parts + 2 * k * stride;
      leaf_gradients(g, k * leaf, min_of((k + 1) * leaf, g.counted), part, part + stride);
    }
    pool.barrier();
    const Range c = own_columns(g.columns, thread, pool.size());
    join_gradients(g, parts, c.begin, c.end, factors);
    if (g.dx == nullptr) return;
    pool.barrier();
    const Range rows = thread_range(g.rows, thread, pool.size());
    const int64_t end = min_of(rows.end, max_of(rows.begin, g.counted));
    for (int64_t r = rows.begin; r < end; r += leaf)
      gradients_of_rows(g, factors, r, min_of(r + leaf, end));
    if (g.dresidual != nullptr)
      for_vectors(
          end * g.columns, rows.end * g.columns,
          HONE_VECTOR { put(g.dresidual + i, counting_dy(g, i, whole, n), whole, n); });
    if (end < rows.end)
      memset(g.dx + end * g.columns, 0,
             static_cast<size_t>((rows.end - end) * g.columns) * sizeof(float));
  });
}

// ---- scales --------------------------------------------------------------------------------

void affine_columns(int64_t rows, int64_t columns, const float* x, const float* scale,
                    const float* shift, float* y, ThreadPool& pool) {
  parallel_items(pool, rows, columns, [&](int64_t begin, int64_t end, int) {
    for_column_blocks(
        columns, HONE_COLUMNS {
          constexpr int V = decltype(vectors)::value;
          F by[V], more[V];
          unroll<V>(HONE_LAMBDA(v) {
            by[v] = get(scale + j + v * W, whole, n);
            more[v] = shift == nullptr ? zero() : get(shift + j + v * W, whole, n);
          });
          for (int64_t r = begin; r < end; ++r)
            unroll<V>(HONE_LAMBDA(v) {
              const int64_t at = r * columns + j + v * W;
              put(y + at, fma(get(x + at, whole, n), by[v], more[v]), whole, n);
            });
        });
  });
}

void scale_blocks(int64_t blocks, int64_t size, const float* x, const float* scale, float* y,
                  ThreadPool& pool) {
  parallel_items(pool, blocks, size, [&](int64_t begin, int64_t end, int) {
    for (int64_t b = begin; b < end; ++b) {
      const float* from = x + b * size;
      float* to = y + b * size;
      if (scale[b] == 0) {  // 0 also if x is inf
        memset(to, 0, static_cast<size_t>(size) * sizeof(float));
        continue;
      }
      const F by = set1(scale[b]);
      for_vectors(
          0, size, HONE_VECTOR { put(to + i, get(from + i, whole, n) * by, whole, n); });
    }
  });
}

// ---- maxima --------------------------------------------------------------------------------

namespace {

// Calls f(pixel, tap) for the pixels of window (i, j) that are inside of the image, row by row. pixel, tap:
// row-major numbers of the pixel in the image, and of its place in the window.
template <class Fn>
HONE_INLINE void for_window(const Windows2d& p, int64_t i, int64_t j, Fn&& f) {
  for (int64_t r = 0; r < p.kernel_h; ++r) {
    const int64_t row = i * p.stride_h - p.top + r * p.dilation_h;
    if (row < 0 || row >= p.height) continue;
    for (int64_t s = 0; s < p.kernel_w; ++s) {
      const int64_t column = j * p.stride_w - p.left + s * p.dilation_w;
      if (column >= 0 && column < p.width) f(row * p.width + column, r * p.kernel_w + s);
    }
  }
}

}  // namespace

void max_pool(const Windows2d& p, const float* x, float* y, ThreadPool& pool) {
  const int64_t c = p.channels;
  parallel_items(pool, p.images * p.out_h, p.out_w * c * p.kernel_h,
                 [&](int64_t begin, int64_t end, int) {
                   for (int64_t line = begin; line < end; ++line) {
                     const float* image = x + line / p.out_h * p.height * p.width * c;
                     for (int64_t j = 0; j < p.out_w; ++j) {
                       float* to = y + (line * p.out_w + j) * c;
                       for_vectors(
                           0, c, HONE_VECTOR {
                             F most = set1(-__builtin_inff());
                             for_window(
                                 p, line % p.out_h,
                                 j, [&](int64_t pixel, int64_t) __attribute__((always_inline)) {
                                   most = max(most, get(image + pixel * c + i, whole, n));
                                 });
                             put(to + i, most, whole, n);
                           });
                     }
                   }
                 });
}

void max_pool_backward(const Windows2d& p, const float* x, const float* y, const float* dy,
                       float* dx, ThreadPool& pool) {
  const int64_t c = p.channels, size = p.height * p.width * c;
  parallel_items(pool, p.images, size, [&](int64_t begin, int64_t end, int) {
    for (int64_t b = begin; b < end; ++b) {
      const float* image = x + b * size;
      float* to = dx + b * size;
      memset(to, 0, static_cast<size_t>(size) * sizeof(float));
      for (int64_t place = 0; place < p.out_h * p.out_w; ++place) {
        const int64_t at = (b * p.out_h * p.out_w + place) * c;
        for_vectors(
            0, c, HONE_VECTOR {
              const F most = get(y + at + i, whole, n), d = get(dy + at + i, whole, n);
              I left = I{} - 1;  // -1 in lanes whose largest element was not found yet
              for_window(
                  p, place / p.out_w,
                  place % p.out_w, [&](int64_t pixel, int64_t) __attribute__((always_inline)) {
                    const int64_t from = pixel * c + i;
                    const I found = (get(image + from, whole, n) == most) & left;
                    left = left & ~found;
                    put(to + from, get(to + from, whole, n) + select(found, d, zero()), whole, n);
                  });
            });
      }
    }
  });
}

// ---- convolutions by channel ---------------------------------------------------------------

void channel_conv(const Windows2d& p, const float* x, const float* w, const float* bias, float* y,
                  ThreadPool& pool) {
  const int64_t c = p.channels;
  parallel_items(
      pool, p.images * p.out_h, p.out_w * c * p.kernel_h, [&](int64_t begin, int64_t end, int) {
        for (int64_t line = begin; line < end; ++line) {
          const float* image = x + line / p.out_h * p.height * p.width * c;
          for (int64_t place = 0; place < p.out_w; ++place) {
            float* to = y + (line * p.out_w + place) * c;
            for_column_blocks(
                c, HONE_COLUMNS {
                  constexpr int V = decltype(vectors)::value;
                  F sum[V];
                  unroll<V>(HONE_LAMBDA(v) {
                    sum[v] = bias == nullptr ? zero() : get(bias + j + v * W, whole, n);
                  });
                  for_window(
                      p, line % p.out_h,
                      place, [&](int64_t pixel, int64_t tap) __attribute__((always_inline)) {
                        unroll<V>(HONE_LAMBDA(v) {
                          sum[v] = fma(get(image + pixel * c + j + v * W, whole, n),
                                       get(w + tap * c + j + v * W, whole, n), sum[v]);
                        });
                      });
                  unroll<V>(HONE_LAMBDA(v) { put(to + j + v * W, sum[v], whole, n); });
                });
          }
        }
      });
}

namespace {

// Along one axis: the number of the window that has pixel `at` at position `tap`; -1: none.
HONE_INLINE int64_t place_of(int64_t at, int64_t tap, int64_t padding, int64_t dilation,
                             int64_t stride, int64_t out) {
  const int64_t from = at + padding - tap * dilation;
  return from < 0 || from % stride != 0 || from / stride >= out ? -1 : from / stride;
}

}  // namespace

void channel_conv_input_gradient(const Windows2d& p, const float* dy, const float* w, bool onto,
                                 float* dx, ThreadPool& pool) {
  const int64_t c = p.channels;
  parallel_items(
      pool, p.images * p.height, p.width * c * p.kernel_h, [&](int64_t begin, int64_t end, int) {
        for (int64_t line = begin; line < end; ++line) {
          const float* image = dy + line / p.height * p.out_h * p.out_w * c;
          for (int64_t column = 0; column < p.width; ++column) {
            float* to = dx + (line * p.width + column) * c;
            for_column_blocks(
                c, HONE_COLUMNS {
                  constexpr int V = decltype(vectors)::value;
                  F sum[V];
                  unroll<V>(
                      HONE_LAMBDA(v) { sum[v] = onto ? get(to + j + v * W, whole, n) : zero(); });
                  for (int64_t r = 0; r < p.kernel_h; ++r) {
                    const int64_t row =
                        place_of(line % p.height, r, p.top, p.dilation_h, p.stride_h, p.out_h);
                    if (row < 0) continue;
                    for (int64_t s = 0; s < p.kernel_w; ++s) {
                      const int64_t place =
                          place_of(column, s, p.left, p.dilation_w, p.stride_w, p.out_w);
                      if (place < 0) continue;
                      const float* from = image + (row * p.out_w + place) * c + j;
                      const float* by = w + (r * p.kernel_w + s) * c + j;
                      unroll<V>(HONE_LAMBDA(v) {
                        sum[v] =
                            fma(get(from + v * W, whole, n), get(by + v * W, whole, n), sum[v]);
                      });
                    }
                  }
                  unroll<V>(HONE_LAMBDA(v) { put(to + j + v * W, sum[v], whole, n); });
                });
          }
        }
      });
}

int64_t channel_conv_workspace_bytes(const Windows2d& p) {
  return 4 * p.images * p.kernel_h * p.kernel_w * p.channels;
}

void channel_conv_weight_gradient(const Windows2d& p, const float* dy, const float* x, float* dw,
                                  void* workspace, ThreadPool& pool) {
  float* parts = static_cast<float*>(workspace);
  const int64_t c = p.channels, taps = p.kernel_h * p.kernel_w;
  pool.run([&](int thread) {
    const Range mine = thread_range(p.images * taps, thread, pool.size());
    for (int64_t k = mine.begin; k < mine.end; ++k) {
      const int64_t image = k / taps, r = k % taps / p.kernel_w, s = k % taps % p.kernel_w;
      const float* pixels = x + image * p.height * p.width * c;
      const float* places = dy + image * p.out_h * p.out_w * c;
      for_column_blocks(
          c, HONE_COLUMNS {
            constexpr int V = decltype(vectors)::value;
            F sum[V];
            unroll<V>(HONE_LAMBDA(v) { sum[v] = zero(); });
            for (int64_t i = 0; i < p.out_h; ++i) {
              const int64_t row = i * p.stride_h - p.top + r * p.dilation_h;
              if (row < 0 || row >= p.height) continue;
              for (int64_t place = 0; place < p.out_w; ++place) {
                const int64_t column = place * p.stride_w - p.left + s * p.dilation_w;
                if (column < 0 || column >= p.width) continue;
                const float* d = places + (i * p.out_w + place) * c + j;
                const float* from = pixels + (row * p.width + column) * c + j;
                unroll<V>(HONE_LAMBDA(v) {
                  sum[v] = fma(get(d + v * W, whole, n), get(from + v * W, whole, n), sum[v]);
                });
              }
            }
            unroll<V>(HONE_LAMBDA(v) { put(parts + k * c + j + v * W, sum[v], whole, n); });
          });
    }
    pool.barrier();
    const Range all = own_columns(taps * c, thread, pool.size());
    for (int64_t j = all.begin; j < all.end; j += W) {
      F sum = zero();
      for (int64_t image = 0; image < p.images; ++image)
        sum = sum + load_n(parts + image * taps * c + j, all.end - j);
      store_n(dw + j, sum, all.end - j);
    }
  });
}

}  // namespace hone::cpu::HONE_ISA
