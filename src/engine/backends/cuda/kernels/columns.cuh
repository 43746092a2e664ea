// batch_norm, its gradient, column_moments and affine_channels (engine/ops). Everything is computed in f32. Statistics
// of columns are computed in parts, which are then joined in order; their number depends on the shape alone. The
// variance of a part is computed around one of its own rows, so that one read of x is enough (shifting and joining:
// Chan, Golub, LeVeque 1983, "Algorithms for computing the sample variance").
#pragma once

#include "engine/backends/cuda/kernels/column_packs.cuh"
#include "engine/backends/cuda/kernels/norms.cuh"

namespace hone::cuda {

// A thread of a block of ByColumn: its columns and rows.
struct ColumnThread {
  ColumnPack pack;
  int64_t row, step;

  __device__ __forceinline__ ColumnThread(const ByColumn& c, bool whole) {
    const int tid = static_cast<int>(threadIdx.x), turns = kBlock / c.lanes;
    pack.first = (int64_t{blockIdx.x} * c.lanes + tid % c.lanes) * kSummedColumns;
    pack.channels = c.columns;
    pack.whole = whole && c.columns % kSummedColumns == 0;
    row = int64_t{blockIdx.y} * turns + tid / c.lanes;
    step = int64_t{gridDim.y} * turns;
  }
  __device__ __forceinline__ bool is_there() const { return pack.first < pack.channels; }
};
// The number of rows to use, the first ones: *rows, or all if that is null.
__device__ __forceinline__ int64_t counted_rows(const ByColumn& c, const int32_t* rows) {
  return rows != nullptr && *rows < c.rows ? *rows : c.rows;
}
__device__ __forceinline__ float relu_of(float x) { return x <= 0 ? 0.0f : x; }  // NaN stays

// The number of elements, their mean, and the sum of the squared distances from the mean.
struct Moments {
  float count, mean, squares;
  __device__ __forceinline__ void join(const Moments& other) {
    if (other.count == 0) return;
    const float all = count + other.count, apart = other.mean - mean;
    mean += apart * (other.count / all);
    squares += other.squares + apart * apart * (count * (other.count / all));
    count = all;
  }
};

// parts[part][column], of the rows of the block's threads.
template <class T>
__device__ __forceinline__ void moment_parts(const T* x, const int32_t* rows, Moments* parts,
                                             const ByColumn& c) {
  constexpr int N = kSummedColumns;
  __shared__ Moments shared[kBlock][N];
  const int tid = static_cast<int>(threadIdx.x);
  const ColumnThread t(c, is_whole(x));
  const int64_t counted = counted_rows(c, rows);
  float from[N] = {}, sum[N] = {}, squares[N] = {}, count = 0;
  if (t.is_there() && t.row < counted) {
    t.pack.get(from, x + t.row * c.columns + t.pack.first);
    HONE_UNROLL_BY(4)
    for (int64_t row = t.row; row < counted; row += t.step) {
      float v[N];
      t.pack.get(v, x + row * c.columns + t.pack.first);
      HONE_UNROLL
      for (int e = 0; e < N; ++e) {
        v[e] -= from[e];
        sum[e] += v[e];
        squares[e] += v[e] * v[e];
      }
      count += 1;
    }
  }
  HONE_UNROLL
  for (int e = 0; e < N; ++e) {
    const float mean = count > 0 ? sum[e] / count : 0.0f;
    shared[tid][e] = {count, from[e] + mean, squares[e] - sum[e] * mean};
  }
  __syncthreads();
  for (int step = kBlock / 2; step >= c.lanes; step /= 2) {
    if (tid < step)
      HONE_UNROLL
      for (int e = 0; e < N; ++e) shared[tid][e].join(shared[tid + step][e]);
    __syncthreads();
  }
  if (tid >= c.lanes || !t.is_there()) return;
  HONE_UNROLL
  for (int e = 0; e < N; ++e)
    if (t.pack.first + e < c.columns)
      parts[blockIdx.y * c.columns + t.pack.first + e] = shared[tid][e];
}

// mean and variance of the parts: blocks of 32 columns, whose eight warps have ranges of parts.
HONE_KERNEL(join_moments, const Moments* parts, float* mean, float* variance, int64_t count,
            int64_t columns) {
  constexpr int kRanges = kBlock / kWarp;
  __shared__ Moments of[kRanges][kWarp];
  const int lane = static_cast<int>(threadIdx.x) % kWarp, range = static_cast<int>(threadIdx.x) / kWarp;
  const int64_t size = (count + kRanges - 1) / kRanges,
                end = (range + 1) * size < count ? (range + 1) * size : count;
  for (int64_t begin = int64_t{blockIdx.x} * kWarp; begin < columns;
       begin += int64_t{gridDim.x} * kWarp) {
    const int64_t j = begin + lane;
    Moments all = {0, 0, 0};
    if (j < columns) {
      HONE_UNROLL_BY(4)
      for (int64_t part = range * size; part < end; ++part) all.join(parts[part * columns + j]);
    }
    of[range][lane] = all;
    __syncthreads();
    for (int other = 1; range == 0 && other < kRanges; ++other) all.join(of[other][lane]);
    __syncthreads();
    if (range != 0 || j >= columns) continue;
    mean[j] = all.mean;
    variance[j] = all.squares > 0 ? all.squares / all.count : all.squares * 0;
  }
}

// y = (x - mean) * gamma / sqrt(variance + eps) + beta + residual. residual may be null; y may be x or residual.
// kept_mean, kept_variance: receive copies of mean and variance, or null.
template <class T, class Y>
__device__ __forceinline__ void batch_norm(const T* x, const void* gamma, const void* beta,
                                           const float* mean, const float* variance,
                                           const Y* residual, Y* y, float* kept_mean,
                                           float* kept_variance, const ByColumn& c) {
  constexpr int N = kSummedColumns;
  const ColumnThread t(c, is_whole(x) && is_whole(y) && is_whole(residual) && is_whole(gamma) &&
                              is_whole(beta) && is_whole(mean) && is_whole(variance) &&
                              is_whole(kept_mean) && is_whole(kept_variance));
  if (!t.is_there()) return;
  const int64_t first = t.pack.first;
  float g[N], b[N], m[N], s[N];
  t.pack.get_from(g, gamma, c.gamma, first);
  t.pack.get_from(b, beta, c.gamma, first);
  t.pack.get(m, mean + first);
  t.pack.get(s, variance + first);
  if (kept_mean != nullptr && t.row == 0) {
    t.pack.put(kept_mean + first, m);
    t.pack.put(kept_variance + first, s);
  }
  HONE_UNROLL
  for (int e = 0; e < N; ++e) g[e] /= sqrtf(s[e] + c.eps);
  HONE_UNROLL_BY(2)
  for (int64_t row = t.row; row < c.rows; row += t.step) {
    const int64_t at = row * c.columns + first;
    float v[N], more[N] = {};
    t.pack.get(v, x + at);
    if (residual != nullptr) t.pack.get(more, residual + at);
    HONE_UNROLL
    for (int e = 0; e < N; ++e) {
      v[e] = (v[e] - m[e]) * g[e] + b[e] + more[e];
      if (c.relu) v[e] = relu_of(v[e]);
    }
    t.pack.put(y + at, v);
  }
}

// The sums of a block's rows: parts[part][sum][column].
__device__ __forceinline__ void put_column_sums(const ColumnThread& t, const ByColumn& c,
                                                const float (&first)[kSummedColumns],
                                                const float (&second)[kSummedColumns],
                                                float* parts) {
  constexpr int N = kSummedColumns;
  __shared__ float shared[kBlock][2 * N + 1];
  const int tid = static_cast<int>(threadIdx.x);
  HONE_UNROLL
  for (int e = 0; e < N; ++e) {
    shared[tid][e] = first[e];
    shared[tid][N + e] = second[e];
  }
  __syncthreads();
  for (int step = kBlock / 2; step >= c.lanes; step /= 2) {
    if (tid < step)
      HONE_UNROLL
      for (int e = 0; e < 2 * N; ++e) shared[tid][e] += shared[tid + step][e];
    __syncthreads();
  }
  if (tid >= c.lanes || !t.is_there()) return;
  float* const part = parts + blockIdx.y * 2 * c.columns + t.pack.first;
  HONE_UNROLL
  for (int e = 0; e < N; ++e) {
    if (t.pack.first + e >= c.columns) continue;
    part[e] = shared[tid][e];
    part[c.columns + e] = shared[tid][N + e];
  }
}

// Reads xhat and dy that counts of a row: where y, the result of a batch norm with relu, is not above 0, dy is 0.
template <class T, class Y>
struct GradientRows {
  const T* x;
  const Y *dy, *y;
  float mean[kSummedColumns], rstd[kSummedColumns];

  __device__ __forceinline__ void fetch(const ColumnPack& pack, const float* means,
                                        const float* variance, float eps) {
    pack.get(mean, means + pack.first);
    pack.get(rstd, variance + pack.first);
    HONE_UNROLL
    for (int e = 0; e < kSummedColumns; ++e) rstd[e] = 1 / sqrtf(rstd[e] + eps);
  }
  __device__ __forceinline__ void read(const ColumnPack& pack, int64_t at,
                                       float (&xhat)[kSummedColumns],
                                       float (&d)[kSummedColumns]) const {
    pack.get(xhat, x + at);
    pack.get(d, dy + at);
    float made[kSummedColumns];
    if (y != nullptr) pack.get(made, y + at);
    HONE_UNROLL
    for (int e = 0; e < kSummedColumns; ++e) {
      xhat[e] = (xhat[e] - mean[e]) * rstd[e];
      if (y != nullptr && !(made[e] > 0)) d[e] = 0;
    }
  }
};

// Parts of dgamma and dbeta.
template <class T, class Y>
__device__ __forceinline__ void batch_norm_parts(const T* x, const float* mean,
                                                 const float* variance, const Y* dy,
                                                 const int32_t* rows, const Y* y, float* parts,
                                                 const ByColumn& c) {
  constexpr int N = kSummedColumns;
  const ColumnThread t(c, is_whole(x) && is_whole(dy) && is_whole(y) && is_whole(mean) &&
                              is_whole(variance));
  const int64_t counted = counted_rows(c, rows);
  GradientRows<T, Y> of = {x, dy, y, {}, {}};
  float dgamma[N] = {}, dbeta[N] = {};
  if (t.is_there()) {
    of.fetch(t.pack, mean, variance, c.eps);
    HONE_UNROLL_BY(2)
    for (int64_t row = t.row; row < counted; row += t.step) {
      float xhat[N], d[N];
      of.read(t.pack, row * c.columns + t.pack.first, xhat, d);
      HONE_UNROLL
      for (int e = 0; e < N; ++e) {
        dgamma[e] += d[e] * xhat[e];
        dbeta[e] += d[e];
      }
    }
  }
  put_column_sums(t, c, dgamma, dbeta, parts);
}

// The other operands of batch_norm_grad, and its results.
template <class T, class Y>
struct BatchNormGrad {
  const void* gamma;
  const float *mean, *variance;
  const int32_t* rows;
  const void *dgamma, *dbeta;
  const float* count;  // null: the rows that count
  T* dx;
  Y* dresidual;                     // null: not wanted
  void *kept_dgamma, *kept_dbeta;  // null: not wanted
};
// dx = gamma rstd (dy - dbeta / n - xhat dgamma / n), and dy that counts. dx may be dy.
template <class T, class Y>
__device__ __forceinline__ void batch_norm_grad(const GradientRows<T, Y>& rows_of,
                                                const BatchNormGrad<T, Y>& a, const ByColumn& c) {
  constexpr int N = kSummedColumns;
  const ColumnThread t(c, is_whole(rows_of.x) && is_whole(rows_of.dy) && is_whole(rows_of.y) &&
                              is_whole(a.gamma) && is_whole(a.mean) && is_whole(a.variance) &&
                              is_whole(a.dgamma) && is_whole(a.dbeta) && is_whole(a.dx) &&
                              is_whole(a.dresidual) && is_whole(a.kept_dgamma) &&
                              is_whole(a.kept_dbeta));
  if (!t.is_there()) return;
  const int64_t counted = counted_rows(c, a.rows), first = t.pack.first;
  const float share = 1 / (a.count != nullptr ? *a.count : static_cast<float>(counted));
  GradientRows<T, Y> of = rows_of;
  of.fetch(t.pack, a.mean, a.variance, c.eps);
  float g[N], to_gamma[N], to_beta[N];
  t.pack.get_from(g, a.gamma, c.gamma, first);
  t.pack.get_from(to_gamma, a.dgamma, c.sums, first);
  t.pack.get_from(to_beta, a.dbeta, c.sums, first);
  if (a.kept_dgamma != nullptr && t.row == 0) {
    t.pack.put_to(a.kept_dgamma, c.gamma, first, to_gamma);
    t.pack.put_to(a.kept_dbeta, c.gamma, first, to_beta);
  }
  for (int64_t row = t.row; row < c.rows; row += t.step) {
    const int64_t at = row * c.columns + first;
    float xhat[N], d[N], dx[N];
    of.read(t.pack, at, xhat, d);
    HONE_UNROLL
    for (int e = 0; e < N; ++e)
      dx[e] = row < counted ? g[e] * of.rstd[e] *
                                  (d[e] - to_beta[e] * share - xhat[e] * (to_gamma[e] * share))
                            : 0.0f;
    t.pack.put(a.dx + at, dx);
    if (a.dresidual != nullptr) t.pack.put(a.dresidual + at, d);
  }
}

// y = x * scale + shift, by column. shift may be null. y may be x.
template <class T, class Y>
__device__ __forceinline__ void affine_channels(const T* x, const void* scale, const void* shift,
                                                Y* y, const ByColumn& c) {
  constexpr int N = kSummedColumns;
  const ColumnThread t(c, is_whole(x) && is_whole(scale) && is_whole(shift) && is_whole(y));
  if (!t.is_there()) return;
  float by[N], added[N] = {};
  t.pack.get_from(by, scale, c.gamma, t.pack.first);
  if (shift != nullptr) t.pack.get_from(added, shift, c.gamma, t.pack.first);
  for (int64_t row = t.row; row < c.rows; row += t.step) {
    const int64_t at = row * c.columns + t.pack.first;
    float v[N];
    t.pack.get(v, x + at);
    HONE_UNROLL
    for (int e = 0; e < N; ++e) v[e] = v[e] * by[e] + added[e];
    t.pack.put(y + at, v);
  }
}

HONE_KERNEL(add_column_parts, const float* parts, void* dgamma, void* dbeta, Element type,
            int64_t count, int64_t columns) {
  for_sums(parts, 2 * columns, count, [&](int64_t j, float sum) {
    put_element(j < columns ? dgamma : dbeta, type, j < columns ? j : j - columns, sum);
  });
}

#define HONE_MOMENTS(name, T)                                                                     \
  HONE_KERNEL(moment_parts_##name, const T* x, const int32_t* rows, Moments* parts, ByColumn c) { \
    moment_parts(x, rows, parts, c);                                                              \
  }
HONE_MOMENTS(f32, float)
HONE_MOMENTS(bf16, bf16)
HONE_MOMENTS(f16, f16)

// T: of x and dx. Y: of y and dy.
#define HONE_COLUMNS(name, T, Y)                                                                  \
  HONE_KERNEL(batch_norm_##name, const T* x, const void* gamma, const void* beta,                 \
              const float* mean, const float* variance, const Y* residual, Y* y,                  \
              float* kept_mean, float* kept_variance, ByColumn c) {                               \
    batch_norm(x, gamma, beta, mean, variance, residual, y, kept_mean, kept_variance, c);         \
  }                                                                                               \
  HONE_KERNEL(batch_norm_parts_##name, const T* x, const float* mean, const float* variance,      \
              const Y* dy, const int32_t* rows, const Y* y, float* parts, ByColumn c) {           \
    batch_norm_parts(x, mean, variance, dy, rows, y, parts, c);                                   \
  }                                                                                               \
  HONE_KERNEL(batch_norm_grad_##name, const T* x, const void* gamma, const float* mean,           \
              const float* variance, const Y* dy, const int32_t* rows, const Y* y,                \
              const void* dgamma, const void* dbeta, const float* count, T* dx, Y* dresidual,     \
              void* kept_dgamma, void* kept_dbeta, ByColumn c) {                                  \
    batch_norm_grad<T, Y>({x, dy, y, {}, {}},                                                     \
                          {gamma, mean, variance, rows, dgamma, dbeta, count, dx, dresidual,      \
                           kept_dgamma, kept_dbeta},                                              \
                          c);                                                                     \
  }                                                                                               \
  HONE_KERNEL(affine_channels_##name, const T* x, const void* scale, const void* shift, Y* y,     \
              ByColumn c) {                                                                       \
    affine_channels(x, scale, shift, y, c);                                                       \
  }
HONE_COLUMNS(f32_f32, float, float)
HONE_COLUMNS(bf16_bf16, bf16, bf16)
HONE_COLUMNS(f16_f16, f16, f16)
HONE_COLUMNS(f32_bf16, float, bf16)
HONE_COLUMNS(bf16_f32, bf16, float)
HONE_COLUMNS(f32_f16, float, f16)
HONE_COLUMNS(f16_f32, f16, float)

}  // namespace hone::cuda
