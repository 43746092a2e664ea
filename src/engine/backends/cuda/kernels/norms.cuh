// layer_norm and rms_norm (engine/ops) and their gradients. A row belongs to `blockDim.x` threads of a block,
// eight columns beside each other in each, or two or four times eight: it is read once and kept in registers.
// Everything is computed in f32 and rounded once, but for xhat of rms_norm, which Transformers rounds too where
// gamma has x's type of 16 bits. Sums over rows are made of parts, one for each block of the grid, which are
// then added in order: their number depends on the shape alone.
#pragma once

#include "engine/backends/cuda/kernels/activations.cuh"
#include "engine/backends/cuda/kernels/kernel.cuh"

namespace hone::cuda {

// Eight elements as they are in memory: of 16 bits in the first four words. To unpack them later leaves the loads of
// several rows in flight.
struct alignas(16) Eight {
  uint32_t words[8];
};
// `count` of eight elements are there, the others are zeros; whole: all, at an address of 16 bytes.
__device__ __forceinline__ void fetch(Eight& x, const void* from, Element type, int64_t at, int count,
                                      bool whole) {
  x = {};
  if (type == Element::f32) {
    const float* f = static_cast<const float*>(from) + at;
    if (whole && count == kNormed) {
      *reinterpret_cast<Pack<float, kNormed>*>(x.words) = get_pack<kNormed>(f);
      return;
    }
    HONE_UNROLL
    for (int e = 0; e < kNormed; ++e)
      if (e < count) x.words[e] = __float_as_uint(f[e]);
    return;
  }
  const uint16_t* h = static_cast<const uint16_t*>(from) + at;
  if (whole && count == kNormed) {
    *reinterpret_cast<Pack<uint16_t, kNormed>*>(x.words) = get_pack<kNormed>(h);
    return;
  }
  HONE_UNROLL
  for (int e = 0; e < kNormed; ++e)
    if (e < count) x.words[e / 2] |= static_cast<uint32_t>(h[e]) << (e % 2 * 16);
}
template <class T>
__device__ __forceinline__ void unpack_pairs(float (&x)[kNormed], const Eight& from) {
  HONE_UNROLL
  for (int e = 0; e < kNormed; ++e) {
    const uint32_t pair = from.words[e / 2];
    x[e] = wide(T{static_cast<uint16_t>(e % 2 == 0 ? pair : pair >> 16)});
  }
}
__device__ __forceinline__ void unpack(float (&x)[kNormed], const Eight& from, Element type) {
  if (type == Element::bf16) {
    unpack_pairs<bf16>(x, from);
  } else if (type == Element::f16) {
    unpack_pairs<f16>(x, from);
  } else {
    HONE_UNROLL
    for (int e = 0; e < kNormed; ++e) x[e] = __uint_as_float(from.words[e]);
  }
}
__device__ __forceinline__ void read(float (&x)[kNormed], const void* from, Element type, int64_t at,
                                     int count, bool whole) {
  Eight eight;
  fetch(eight, from, type, at, count, whole);
  unpack(x, eight, type);
}
template <class T>
__device__ __forceinline__ void write_as(T* to, const float (&x)[kNormed], int count, bool whole) {
  if (whole && count == kNormed) {
    store<kNormed>(to, x);
    return;
  }
  HONE_UNROLL
  for (int e = 0; e < kNormed; ++e)
    if (e < count) to[e] = Narrow<T>::of(x[e]);
}
__device__ __forceinline__ void write(void* to, Element type, int64_t at, const float (&x)[kNormed],
                                      int count, bool whole) {
  if (type == Element::f32)
    write_as(static_cast<float*>(to) + at, x, count, whole);
  else if (type == Element::bf16)
    write_as(static_cast<bf16*>(to) + at, x, count, whole);
  else
    write_as(static_cast<f16*>(to) + at, x, count, whole);
}
__device__ __forceinline__ float rounded(float x, Element type) {
  return type == Element::bf16 ? wide(to_bf16(x)) : wide(to_f16(x));
}
// What a write to memory of this type keeps of x.
__device__ __forceinline__ float kept_as(float x, Element type) {
  return type == Element::f32 ? x : rounded(x, type);
}

// Two sums over the threads of a row, for all of them. `turn` alternates, so that one barrier is enough.
struct RowSums {
  float first, second;
};
__device__ __forceinline__ RowSums sum_row(float first, float second, int turn) {
  constexpr int kWarps = 1024 / kWarp;
  __shared__ float sums[2][kMostNormRows][2][kWarps];
  first = sum_warp(first);
  second = sum_warp(second);
  const int warp = static_cast<int>(threadIdx.x) / kWarp, row = static_cast<int>(threadIdx.y);
  if (static_cast<int>(threadIdx.x) % kWarp == 0) {
    sums[turn][row][0][warp] = first;
    sums[turn][row][1][warp] = second;
  }
  __syncthreads();
  RowSums all = {sums[turn][row][0][0], sums[turn][row][1][0]};
  for (int w = 1; w < static_cast<int>(blockDim.x) / kWarp; ++w) {
    all.first += sums[turn][row][0][w];
    all.second += sums[turn][row][1][w];
  }
  return all;
}

// The first of a thread's columns in its k-th eight, and how many are there.
__device__ __forceinline__ int column_of(int k) {
  return (k * static_cast<int>(blockDim.x) + static_cast<int>(threadIdx.x)) * kNormed;
}
__device__ __forceinline__ int count_of(const Norm& n, int column) {
  const int left = n.columns - column;
  return left < 0 ? 0 : left < kNormed ? left : kNormed;
}

// What a block of norm_rows reads and writes.
struct NormRows {
  const void *x, *gamma, *beta;
  void* y;
  bool whole, rounds_xhat;
};
// gamma and beta of a thread's columns.
struct NormParameters {
  float g[kNormed] = {}, b[kNormed] = {};

  __device__ __forceinline__ void fetch_from(const NormRows& a, const Norm& n, int column) {
    const int count = count_of(n, column);
    read(g, a.gamma, n.gamma, column, count, a.whole);
    if (n.has_beta) read(b, a.beta, n.gamma, column, count, a.whole);
  }
};
__device__ __forceinline__ void ask_for(Eight& to, const NormRows& a, const Norm& n, int64_t row,
                                        int column) {
  const int count = row < n.rows ? count_of(n, column) : 0;
  fetch(to, a.x, n.x, row * n.columns + column, count, a.whole);
}
// v - mean, 0 where there is no column; the sum of the squares.
__device__ __forceinline__ float centre(float (&v)[kNormed], int count, float mean) {
  float squares = 0;
  HONE_UNROLL
  for (int e = 0; e < kNormed; ++e) {
    v[e] = e < count ? v[e] - mean : 0.0f;
    squares += v[e] * v[e];
  }
  return squares;
}
__device__ __forceinline__ void write_y(const NormRows& a, const Norm& n, const NormParameters& p,
                                        float (&v)[kNormed], float rstd, int64_t row, int column) {
  HONE_UNROLL
  for (int e = 0; e < kNormed; ++e) {
    float xhat = v[e] * rstd;
    if (a.rounds_xhat) xhat = rounded(xhat, n.x);
    v[e] = n.has_beta ? xhat * p.g[e] + p.b[e] : xhat * p.g[e];
  }
  write(a.y, n.y, row * n.columns + column, v, count_of(n, column), a.whole);
}

template <int kEach>
__device__ __forceinline__ void norm_rows(const NormRows& a, float* mean_of, float* rstd_of,
                                          const Norm& n) {
  constexpr bool kKeeps = kEach == 1;  // gamma, beta, and the row that comes next
  const auto size = static_cast<float>(n.columns);
  const int64_t step = static_cast<int64_t>(gridDim.x) * blockDim.y;
  const int64_t first = static_cast<int64_t>(blockIdx.x) * blockDim.y + threadIdx.y;
  NormParameters p;
  Eight next;
  if (kKeeps) {
    p.fetch_from(a, n, column_of(0));
    ask_for(next, a, n, first, column_of(0));
  }
  int turn = 0;
  for (int64_t row = first; row - threadIdx.y < n.rows; row += step) {
    float v[kEach][kNormed];
    HONE_UNROLL
    for (int k = 0; k < kEach; ++k) {
      if (!kKeeps) ask_for(next, a, n, row, column_of(k));
      unpack(v[k], next, n.x);
    }
    if (kKeeps) ask_for(next, a, n, row + step, column_of(0));
    float sum = 0, squares = 0, mean = 0;
    if (n.is_layer) {
      HONE_UNROLL
      for (int k = 0; k < kEach; ++k)
        HONE_UNROLL
        for (int e = 0; e < kNormed; ++e) sum += v[k][e];
      mean = sum_row(sum, 0, turn).first / size;
      turn ^= 1;
    }
    HONE_UNROLL
    for (int k = 0; k < kEach; ++k) squares += centre(v[k], count_of(n, column_of(k)), mean);
    const float rstd = 1.0f / sqrtf(sum_row(squares, 0, turn).first / size + n.eps);
    turn ^= 1;
    if (row >= n.rows) continue;
    HONE_UNROLL
    for (int k = 0; k < kEach; ++k) {
      if (!kKeeps) p.fetch_from(a, n, column_of(k));
      write_y(a, n, p, v[k], rstd, row, column_of(k));
    }
    if (threadIdx.x == 0) {
      if (n.is_layer) mean_of[row] = mean;
      rstd_of[row] = rstd;
    }
  }
}

#define HONE_NORM(each)                                                                          \
  HONE_WIDE_ROW_KERNEL(norm_##each, const void* x, const void* gamma, const void* beta, void* y, \
                       float* mean, float* rstd, Norm n) {                                       \
    const bool whole = n.columns % kNormed == 0 && is_whole(x) && is_whole(gamma) &&             \
                       is_whole(beta) && is_whole(y);                                            \
    const bool rounds_xhat = !n.is_layer && n.gamma == n.x && n.x != Element::f32;               \
    norm_rows<each>({x, gamma, beta, y, whole, rounds_xhat}, mean, rstd, n);                     \
  }
HONE_NORM(1)
HONE_NORM(4)

// What the gradient of a row reads.
struct NormGrad {
  const void *x, *gamma;
  const float *mean, *rstd;  // mean: null for rms_norm
  const void *dy, *dsum;     // dsum: or null
  void* dx;
  const void* beta;  // or null
  void* y;           // for the norm again, in dy's type; or null
  bool whole, rounds_xhat;
};
__device__ __forceinline__ NormGrad norm_grad_of(const void* x, const void* gamma, const float* mean,
                                                 const float* rstd, const void* dy,
                                                 const void* dsum, void* dx, const void* beta,
                                                 void* y, const Norm& n) {
  const bool whole = n.columns % kNormed == 0 && is_whole(x) && is_whole(gamma) && is_whole(dy) &&
                     is_whole(dsum) && is_whole(dx) && is_whole(beta) && is_whole(y);
  const bool rounds_xhat = !n.is_layer && n.gamma == n.x && n.x != Element::f32;
  return {x, gamma, mean, rstd, dy, dsum, dx, beta, y, whole, rounds_xhat};
}
// What all columns of a row share: dx = rstd g - xhat by_xhat - rest, and dsum.
struct RowTerms {
  float mean, rstd, by_xhat, rest;
};
// x to xhat, dy to dy gamma, and both into the sums of a row and those of the columns.
__device__ __forceinline__ void add_to_columns(float (&x)[kNormed], float (&dy)[kNormed],
                                               const float (&gamma)[kNormed], float mean,
                                               float rstd, float (&of_gamma)[kNormed],
                                               float (&of_beta)[kNormed], float& sum,
                                               float& with_x) {
  HONE_UNROLL
  for (int e = 0; e < kNormed; ++e) {
    x[e] = (x[e] - mean) * rstd;
    of_gamma[e] += dy[e] * x[e];  // where there is no column dy is 0
    of_beta[e] += dy[e];
    dy[e] *= gamma[e];
    sum += dy[e];
    with_x += dy[e] * x[e];
  }
}
// The norm again, with the bits of norm_rows.
__device__ __forceinline__ void write_again(const NormGrad& a, const Norm& n, int64_t row, int column,
                                            const float (&xhat)[kNormed],
                                            const float (&gamma)[kNormed]) {
  if (a.y == nullptr) return;
  const int count = count_of(n, column);
  float v[kNormed], beta[kNormed];
  if (a.beta != nullptr) read(beta, a.beta, n.gamma, column, count, a.whole);
  HONE_UNROLL
  for (int e = 0; e < kNormed; ++e) {
    const float x = a.rounds_xhat ? rounded(xhat[e], n.x) : xhat[e];
    v[e] = a.beta != nullptr ? x * gamma[e] + beta[e] : x * gamma[e];
  }
  write(a.y, n.y, row * n.columns + column, v, count, a.whole);
}
__device__ __forceinline__ void write_dx(const NormGrad& a, const Norm& n, int64_t at, int count,
                                         const float (&xhat)[kNormed], float (&g)[kNormed],
                                         const RowTerms& r) {
  HONE_UNROLL
  for (int e = 0; e < kNormed; ++e) g[e] = r.rstd * (g[e] - r.rest - xhat[e] * r.by_xhat);
  if (a.dsum != nullptr) {
    float more[kNormed];
    read(more, a.dsum, n.dsum, at, count, a.whole);
    HONE_UNROLL
    for (int e = 0; e < kNormed; ++e) g[e] += more[e];
  }
  write(a.dx, n.dx, at, g, count, a.whole);
}

// The sums of a block, as parts[block][dgamma, dbeta, dx if kSums is 3][columns]; its rows in y are added in order.
template <int kSums, int kEach>
__device__ __forceinline__ void put_parts(float (&of)[kSums][kEach][kNormed], float* parts,
                                          const Norm& n) {
  __shared__ float of_rows[kSums * kNormed][kBlock];
  for (int row = 1; row < static_cast<int>(blockDim.y); ++row) {  // kEach is 1
    if (static_cast<int>(threadIdx.y) == row) {
      HONE_UNROLL
      for (int s = 0; s < kSums; ++s)
        HONE_UNROLL
        for (int e = 0; e < kNormed; ++e) of_rows[s * kNormed + e][threadIdx.x] = of[s][0][e];
    }
    __syncthreads();
    if (threadIdx.y == 0) {
      HONE_UNROLL
      for (int s = 0; s < kSums; ++s)
        HONE_UNROLL
        for (int e = 0; e < kNormed; ++e) of[s][0][e] += of_rows[s * kNormed + e][threadIdx.x];
    }
    __syncthreads();
  }
  if (threadIdx.y != 0) return;
  HONE_UNROLL
  for (int k = 0; k < kEach; ++k) {
    const int column = column_of(k), count = count_of(n, column);
    float* const to = parts + static_cast<int64_t>(blockIdx.x) * kSums * n.columns + column;
    const bool whole = n.columns % 4 == 0;
    HONE_UNROLL
    for (int s = 0; s < kSums; ++s)
      write_as(to + static_cast<int64_t>(s) * n.columns, of[s][k], count, whole);
  }
}
// Norms again where the gradient's kernel has no registers for them. A block for each row, of kNormed columns a thread.
HONE_KERNEL(norm_again, const void* x, const void* gamma, const float* mean, const float* rstd,
            const void* beta, void* y, Norm n) {
  const NormGrad a = norm_grad_of(x, gamma, mean, rstd, nullptr, nullptr, nullptr, beta, y, n);
  const int64_t row = blockIdx.x;
  const float middle = mean != nullptr ? mean[row] : 0.0f, by = rstd[row];
  for (int column = column_of(0); column < n.columns; column += column_of(1) - column_of(0)) {
    const int count = count_of(n, column);
    float v[kNormed], g[kNormed];
    read(v, x, n.x, row * n.columns + column, count, a.whole);
    read(g, gamma, n.gamma, column, count, a.whole);
    HONE_UNROLL
    for (int e = 0; e < kNormed; ++e) v[e] = (v[e] - middle) * by;
    write_again(a, n, row, column, v, g);
  }
}

// dx of all rows, the norm of each again if kEach is 1, and the sums of dgamma, of dbeta and, if kSums is 3, of dx over those of each block.
template <int kEach, int kSums = 2>
__device__ __forceinline__ void norm_grad_rows(const NormGrad& a, float* parts, const Norm& n) {
  constexpr bool kKeeps = kEach == 1;
  const int64_t step = static_cast<int64_t>(gridDim.x) * blockDim.y;
  const int64_t first = static_cast<int64_t>(blockIdx.x) * blockDim.y + threadIdx.y;
  const float share = 1.0f / static_cast<float>(n.columns);
  float gamma[kNormed] = {}, of[kSums][kEach][kNormed] = {};
  if (kKeeps) read(gamma, a.gamma, n.gamma, column_of(0), count_of(n, column_of(0)), a.whole);
  Eight next_x[kEach], next_dy[kEach];
  const auto ask = [&](int64_t row) {
    HONE_UNROLL
    for (int k = 0; k < kEach; ++k) {
      const int column = column_of(k), count = row < n.rows ? count_of(n, column) : 0;
      fetch(next_x[k], a.x, n.x, row * n.columns + column, count, a.whole);
      fetch(next_dy[k], a.dy, n.y, row * n.columns + column, count, a.whole);
    }
  };
  if (kKeeps) ask(first);
  int turn = 0;
  for (int64_t row = first; row - threadIdx.y < n.rows; row += step, turn ^= 1) {
    const bool is_there = row < n.rows;
    RowTerms r = {is_there && a.mean != nullptr ? a.mean[row] : 0.0f, is_there ? a.rstd[row] : 0.0f,
                  0.0f, 0.0f};
    if (!kKeeps) ask(row);
    float x[kEach][kNormed], g[kEach][kNormed], sum = 0, with_x = 0;
    HONE_UNROLL
    for (int k = 0; k < kEach; ++k) {
      unpack(x[k], next_x[k], n.x);
      unpack(g[k], next_dy[k], n.y);
    }
    if (kKeeps) ask(row + step);
    HONE_UNROLL
    for (int k = 0; k < kEach; ++k) {
      if (!kKeeps) read(gamma, a.gamma, n.gamma, column_of(k), count_of(n, column_of(k)), a.whole);
      add_to_columns(x[k], g[k], gamma, r.mean, r.rstd, of[0][k], of[1][k], sum, with_x);
    }
    const RowSums row_sums = sum_row(sum, with_x, turn);
    r.rest = a.mean != nullptr ? row_sums.first * share : 0.0f;
    r.by_xhat = row_sums.second * share;
    if (!is_there) continue;
    HONE_UNROLL
    for (int k = 0; k < kEach; ++k) {
      if (kKeeps) write_again(a, n, row, column_of(k), x[k], gamma);
      write_dx(a, n, row * n.columns + column_of(k), count_of(n, column_of(k)), x[k], g[k], r);
      if (kSums < 3) continue;
      HONE_UNROLL
      for (int e = 0; e < kNormed; ++e) of[kSums - 1][k][e] += kept_as(g[k][e], n.dx);
    }
  }
  put_parts(of, parts, n);
}

// The same for rows of any size: they are read twice, and a block adds to its part in memory.
__device__ __forceinline__ void norm_grad_wide_rows(const NormGrad& a, float* parts, const Norm& n) {
  float* const part = parts + static_cast<int64_t>(blockIdx.x) * 2 * n.columns;
  const float share = 1.0f / static_cast<float>(n.columns);
  const int turns = (n.columns + column_of(1) - column_of(0) - 1) / (column_of(1) - column_of(0));
  int turn = 0;
  for (int64_t row = blockIdx.x; row < n.rows; row += gridDim.x, turn ^= 1) {
    RowTerms r = {a.mean != nullptr ? a.mean[row] : 0.0f, a.rstd[row], 0.0f, 0.0f};
    float sum = 0, with_x = 0;
    const auto visit = [&](bool is_last) {
      for (int k = 0; k < turns; ++k) {
        const int column = column_of(k), count = count_of(n, column);
        const int64_t at = row * n.columns + column;
        float x[kNormed], g[kNormed], gamma[kNormed], of_gamma[kNormed] = {}, of_beta[kNormed] = {};
        read(x, a.x, n.x, at, count, a.whole);
        read(g, a.dy, n.y, at, count, a.whole);
        read(gamma, a.gamma, n.gamma, column, count, a.whole);
        float own = 0, own_with_x = 0;
        add_to_columns(x, g, gamma, r.mean, r.rstd, of_gamma, of_beta, own, own_with_x);
        if (!is_last) {
          sum += own;
          with_x += own_with_x;
          continue;
        }
        write_dx(a, n, at, count, x, g, r);
        for (int e = 0; e < count; ++e) {
          float &to_gamma = part[column + e], &to_beta = part[n.columns + column + e];
          const bool is_first = row == blockIdx.x;
          to_gamma = is_first ? of_gamma[e] : to_gamma + of_gamma[e];
          to_beta = is_first ? of_beta[e] : to_beta + of_beta[e];
        }
      }
    };
    visit(false);
    const RowSums of = sum_row(sum, with_x, turn);
    r.rest = a.mean != nullptr ? of.first * share : 0.0f;
    r.by_xhat = of.second * share;
    visit(true);
  }
}

#define HONE_NORM_GRAD(name, rows_of)                                                             \
  HONE_WIDE_ROW_KERNEL(name, const void* x, const void* gamma, const float* mean,                 \
                       const float* rstd, const void* dy, const void* dsum, void* dx,             \
                       const void* beta, void* y, float* parts, Norm n) {                         \
    rows_of(norm_grad_of(x, gamma, mean, rstd, dy, dsum, dx, beta, y, n), parts, n);              \
  }
HONE_NORM_GRAD(norm_grad_1, norm_grad_rows<1>)
HONE_NORM_GRAD(norm_grad_2, norm_grad_rows<2>)
HONE_NORM_GRAD(norm_grad_sums, (norm_grad_rows<1, 3>))
HONE_NORM_GRAD(norm_grad_wide, norm_grad_wide_rows)

// The parts' column j, in the order of eight ranges of parts and then of those, for thread 0 of each 32 columns'
// eight warps. Columns are `step` apart in a part.
__device__ __forceinline__ float sum_parts(const float* parts, int64_t j, int64_t columns,
                                           int64_t count, int64_t step) {
  __shared__ float of[kBlock / kWarp][kWarp];
  constexpr int kRanges = kBlock / kWarp;
  const int lane = static_cast<int>(threadIdx.x) % kWarp, range = static_cast<int>(threadIdx.x) / kWarp;
  const int64_t size = (count + kRanges - 1) / kRanges;
  const int64_t end = (range + 1) * size < count ? (range + 1) * size : count;
  float sum = 0;
  if (j < columns) {
    HONE_UNROLL_BY(8)
    for (int64_t part = range * size; part < end; ++part) sum += parts[part * step + j];
  }
  of[range][lane] = sum;
  __syncthreads();
  for (int other = 1; range == 0 && other < kRanges; ++other) sum += of[other][lane];
  __syncthreads();
  return sum;
}
// Calls put(column, sum) for each column.
template <class F>
__device__ __forceinline__ void for_sums(const float* parts, int64_t columns, int64_t count, F put) {
  if (count < kBlock / kWarp) {
    for (int64_t j = first_of_all(); j < columns; j += all_threads()) {
      float sum = 0;
      for (int64_t part = 0; part < count; ++part) sum += parts[part * columns + j];
      put(j, sum);
    }
    return;
  }
  const int64_t lane = threadIdx.x % kWarp;
  for (int64_t begin = blockIdx.x * int64_t{kWarp}; begin < columns;
       begin += gridDim.x * int64_t{kWarp}) {
    const float sum = sum_parts(parts, begin + lane, columns, count, columns);
    if (threadIdx.x < kWarp && begin + lane < columns) put(begin + lane, sum);
  }
}

// dgamma, dbeta (or null) and the sums of dx (if has_sums) of norm_grad's parts.
HONE_KERNEL(add_norm_parts, const float* parts, void* dgamma, void* dbeta, float* sums,
            int64_t count, Norm n) {
  for_sums(parts, (n.has_sums ? 3 : 2) * int64_t{n.columns}, count, [&](int64_t j, float sum) {
    if (j >= 2 * int64_t{n.columns}) {
      sums[j - 2 * int64_t{n.columns}] = sum;
      return;
    }
    void* const to = j < n.columns ? dgamma : dbeta;
    const int64_t at = j < n.columns ? j : j - n.columns;
    if (to == nullptr) return;
    if (n.gamma == Element::f32)
      static_cast<float*>(to)[at] = sum;
    else if (n.gamma == Element::bf16)
      static_cast<bf16*>(to)[at] = to_bf16(sum);
    else
      static_cast<f16*>(to)[at] = to_f16(sum);
  });
}

// Sums over rows. Blocks of 32 x 8 threads: four columns of each lane, and rows in eight turns. read(row, column, v)
// gives those that are there, and zeros; the sum of part blockIdx.y goes to parts[part][column].
template <class F>
__device__ __forceinline__ void sum_quads(float* parts, int64_t rows, int64_t columns, F read) {
  constexpr int N = kSummedColumns;
  __shared__ float sums[8][kWarp][N + 1];
  const int lane = static_cast<int>(threadIdx.x), turn = static_cast<int>(threadIdx.y);
  const int64_t j = (static_cast<int64_t>(blockIdx.x) * kWarp + lane) * N, part = blockIdx.y;
  const int64_t size = (rows + gridDim.y - 1) / gridDim.y;
  const int64_t end = (part + 1) * size < rows ? (part + 1) * size : rows;
  float sum[N] = {};
  if (j < columns) {
    HONE_UNROLL_BY(4)
    for (int64_t row = part * size + turn; row < end; row += 8) {
      float v[N];
      read(row, j, v);
      HONE_UNROLL
      for (int e = 0; e < N; ++e) sum[e] += v[e];
    }
  }
  HONE_UNROLL
  for (int e = 0; e < N; ++e) sums[turn][lane][e] = sum[e];
  __syncthreads();
  if (turn != 0) return;
  HONE_UNROLL
  for (int e = 0; e < N; ++e) {
    for (int other = 1; other < 8; ++other) sum[e] += sums[other][lane][e];
    if (j + e < columns) parts[part * columns + j + e] = sum[e];
  }
}
// The same of f(row, column).
template <class F>
__device__ __forceinline__ void sum_columns(float* parts, int64_t rows, int64_t columns, F f) {
  sum_quads(parts, rows, columns, [&](int64_t row, int64_t j, float (&v)[kSummedColumns]) {
    HONE_UNROLL
    for (int e = 0; e < kSummedColumns; ++e) v[e] = j + e < columns ? f(row, j + e) : 0.0f;
  });
}
template <class T>
__device__ __forceinline__ void sum_rows(const T* x, float* parts, int64_t rows, int64_t columns) {
  if (columns % kSummedColumns == 0 && is_whole(x))
    sum_quads(parts, rows, columns, [&](int64_t row, int64_t j, float (&v)[kSummedColumns]) {
      load<kSummedColumns>(v, x + row * columns + j);
    });
  else
    sum_columns(parts, rows, columns,
                [&](int64_t row, int64_t j) { return wide(x[row * columns + j]); });
}

// dx, and parts of the sums of its rows; y: null, or for the activation of x.
template <class T>
__device__ __forceinline__ void activation_grad_sums(const T* x, const T* dy, T* dx, T* y,
                                                     float* parts, int64_t rows, int64_t columns,
                                                     int kind) {
  constexpr int N = kSummedColumns;
  if (columns % N == 0 && is_whole(x) && is_whole(dy) && is_whole(dx) && is_whole(y))
    sum_quads(parts, rows, columns, [&](int64_t row, int64_t j, float (&v)[N]) {
      const int64_t at = row * columns + j;
      float d[N], again[N];
      load<N>(v, x + at);
      load<N>(d, dy + at);
      HONE_UNROLL
      for (int e = 0; e < N; ++e) {
        again[e] = y != nullptr ? activate(kind, v[e]) : 0.0f;
        v[e] = wide(Narrow<T>::of(d[e] * slope(kind, v[e])));
      }
      store<N>(dx + at, v);
      if (y != nullptr) store<N>(y + at, again);
    });
  else
    sum_columns(parts, rows, columns, [&](int64_t row, int64_t j) {
      const int64_t at = row * columns + j;
      const float v = wide(x[at]);
      const T made = Narrow<T>::of(wide(dy[at]) * slope(kind, v));
      dx[at] = made;
      if (y != nullptr) y[at] = Narrow<T>::of(activate(kind, v));
      return wide(made);
    });
}

// row_parts: parts of sums over rows; add_parts: out = onto (or nothing) + the parts.
#define HONE_ROW_SUMS(name, T)                                                                 \
  HONE_KERNEL(row_parts_##name, const T* x, float* parts, int64_t rows, int64_t columns) {     \
    sum_rows(x, parts, rows, columns);                                                         \
  }                                                                                            \
  HONE_KERNEL(add_parts_##name, const float* parts, const T* onto, T* out, int64_t count,      \
              int64_t columns) {                                                               \
    for_sums(parts, columns, count, [&](int64_t j, float sum) {                                \
      out[j] = Narrow<T>::of(onto != nullptr ? sum + wide(onto[j]) : sum);                     \
    });                                                                                        \
  }                                                                                            \
  HONE_TILE_KERNEL(activation_grad_sums_##name, const T* x, const T* dy, T* dx, T* y, float* parts, \
              int64_t rows, int64_t columns, int kind) {                                       \
    activation_grad_sums(x, dy, dx, y, parts, rows, columns, kind);                            \
  }
HONE_ROW_SUMS(f32, float)
HONE_ROW_SUMS(bf16, bf16)
HONE_ROW_SUMS(f16, f16)

}  // namespace hone::cuda
