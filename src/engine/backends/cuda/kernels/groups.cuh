// Rows by group and their products (top_k, group_rows, grouped_matmul, grouped_outer of engine/ops), all in a
// fixed order.
#include "engine/backends/cuda/kernels/kernel.cuh"
#include "engine/backends/cuda/kernels/products.cuh"

namespace hone::cuda {

// Whether x in column i is before y in column j among the largest; a NaN is the largest.
template <class W>
__device__ __forceinline__ bool is_above(W x, int i, W y, int j) {
  const bool x_is_nan = x != x, y_is_nan = y != y;
  if (x_is_nan || y_is_nan) return x_is_nan && (!y_is_nan || i < j);
  return x > y || (x == y && i < j);
}

// A warp for each row: the j-th largest is the first of all that come after the last one found.
template <class T>
__device__ void find_largest(const T* x, T* values, int32_t* columns, int64_t rows, int width,
                             int k) {
  using W = Wide<T>;
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const int64_t warps = static_cast<int64_t>(gridDim.x) * (kBlock / kWarp);
  for (int64_t t = static_cast<int64_t>(blockIdx.x) * (kBlock / kWarp) + threadIdx.x / kWarp;
       t < rows; t += warps) {
    W last = 0;
    int last_column = -1;  // none
    for (int j = 0; j < k; ++j) {
      W best = 0;
      int column = width;  // none
      for (int c = lane; c < width; c += kWarp) {
        const W here = wide(x[t * width + c]);
        if (last_column >= 0 && !is_above(last, last_column, here, c)) continue;
        if (column == width || is_above(here, c, best, column)) {
          best = here;
          column = c;
        }
      }
      for (int step = kWarp / 2; step > 0; step /= 2) {
        const W other = __shfl_xor_sync(kAllLanes, best, step);
        const int at = __shfl_xor_sync(kAllLanes, column, step);
        if (at < width && (column == width || is_above(other, at, best, column))) {
          best = other;
          column = at;
        }
      }
      last = best;
      last_column = column;
      if (lane != 0) continue;
      values[t * k + j] = x[t * width + column];
      columns[t * k + j] = column;
    }
  }
}
#define HONE_TOP_K(name, T)                                                                   \
  HONE_KERNEL(top_k_##name, const T* x, T* values, int32_t* columns, int64_t rows, int width, \
              int k) {                                                                        \
    find_largest(x, values, columns, rows, width, k);                                         \
  }
HONE_TOP_K(f64, double)
HONE_TOP_K(f32, float)
HONE_TOP_K(bf16, bf16)
HONE_TOP_K(f16, f16)

// A block for each group, and one for the end of the last. Its first place is the number of rows of groups
// before it.
HONE_KERNEL(group_rows, const int32_t* ids, int32_t* rows, int32_t* places, int32_t* starts,
            int32_t* group_of, int64_t n, int groups, int each) {
  __shared__ unsigned lanes[kBlock / kWarp];
  const int group = static_cast<int>(blockIdx.x);
  int64_t before = 0;
  for (int64_t r = threadIdx.x; r < n; r += kBlock) before += ids[r] < group ? 1 : 0;
  int64_t place = reduce_block(before, [](int64_t x, int64_t y) { return x + y; });
  if (threadIdx.x == 0) starts[group] = static_cast<int32_t>(place);
  if (group == groups) return;
  const int warp = static_cast<int>(threadIdx.x) / kWarp;
  const unsigned lower = (1u << threadIdx.x % kWarp) - 1;
  for (int64_t begin = 0; begin < n; begin += kBlock) {
    const int64_t r = begin + threadIdx.x;
    const bool is_here = r < n && ids[r] == group;
    const unsigned mine = __ballot_sync(kAllLanes, is_here);
    if (threadIdx.x % kWarp == 0) lanes[warp] = mine;
    __syncthreads();
    int first = 0, all = 0;
    for (int w = 0; w < kBlock / kWarp; ++w) {
      if (w == warp) first = all;
      all += __popc(lanes[w]);
    }
    if (is_here) {
      const int64_t at = place + first + __popc(mine & lower);
      rows[at] = static_cast<int32_t>(r / each);
      group_of[at] = group;
      places[r] = static_cast<int32_t>(at);
    }
    place += all;
    __syncthreads();
  }
}

// z = x w[g] for the rows of group g. Tiles of 16 x 16: of columns along the grid's x, of a group's rows along
// y, which strides, groups along z.
template <class W, class X, class Y, class Z>
__device__ void multiply_groups(const X* x, const Y* w, const int32_t* starts, Z* z, Product p) {
  constexpr int kTile = 16;
  __shared__ W of_x[kTile][kTile + 1], of_w[kTile][kTile + 1];
  const int column = static_cast<int>(threadIdx.x), row = static_cast<int>(threadIdx.y);
  const int64_t group = blockIdx.z, end = starts[group + 1];
  const int64_t j = static_cast<int64_t>(blockIdx.x) * kTile + column;
  w += group * p.k * p.n;
  for (int64_t first = starts[group] + static_cast<int64_t>(blockIdx.y) * kTile; first < end;
       first += static_cast<int64_t>(gridDim.y) * kTile) {
    const int64_t i = first + row;
    W sum = 0;
    for (int64_t l = 0; l < p.k; l += kTile) {
      W left = 0, right = 0;
      if (i < end && l + column < p.k) left = static_cast<W>(wide(x[i * p.k + l + column]));
      if (l + row < p.k && j < p.n)
        right = static_cast<W>(wide(w[(l + row) * p.row_y + j * p.column_y]));
      of_x[row][column] = rounded(left, p.round);
      of_w[row][column] = rounded(right, p.round);
      __syncthreads();
      for (int t = 0; t < kTile; ++t) sum += of_x[row][t] * of_w[t][column];
      __syncthreads();
    }
    if (i < end && j < p.n) z[i * p.n + j] = Narrow<Z>::of(sum);
  }
}

// z[g] = onto[g] + the sum of x[r] y[r]^T over the rows r of group g; onto may be null, and z may be onto. Tiles
// of 16 x 16 of z[g], groups along the grid's z.
template <class W, class X, class Y, class Z>
__device__ void add_outer_groups(const X* x, const Y* y, const int32_t* starts, const Z* onto, Z* z,
                                 Product p) {
  constexpr int kTile = 16;
  __shared__ W of_x[kTile][kTile + 1], of_y[kTile][kTile + 1];
  const int column = static_cast<int>(threadIdx.x), row = static_cast<int>(threadIdx.y);
  const int64_t group = blockIdx.z, begin = starts[group], end = starts[group + 1];
  const int64_t j = static_cast<int64_t>(blockIdx.x) * kTile + column;
  for (int64_t first = static_cast<int64_t>(blockIdx.y) * kTile; first < p.m;
       first += static_cast<int64_t>(gridDim.y) * kTile) {
    const int64_t i = first + row;
    W sum = 0;
    for (int64_t r = begin; r < end; r += kTile) {
      W left = 0, right = 0;  // row `row` of both, columns first + column and j
      if (r + row < end && first + column < p.m)
        left = static_cast<W>(wide(x[(r + row) * p.m + first + column]));
      if (r + row < end && j < p.n) right = static_cast<W>(wide(y[(r + row) * p.n + j]));
      of_x[row][column] = rounded(left, p.round);
      of_y[row][column] = rounded(right, p.round);
      __syncthreads();
      for (int t = 0; t < kTile; ++t) sum += of_x[t][row] * of_y[t][column];
      __syncthreads();
    }
    if (i >= p.m || j >= p.n) continue;
    const int64_t at = (group * p.m + i) * p.n + j;
    if (onto != nullptr) sum += static_cast<W>(wide(onto[at]));
    z[at] = Narrow<Z>::of(sum);
  }
}

#define HONE_GROUPED(x, X, y, Y, z, Z, W)                                                          \
  HONE_KERNEL(grouped_matmul_##x##_##y##_##z, const X* left, const Y* right,                       \
              const int32_t* starts, Z* out, Product p) {                                          \
    multiply_groups<W>(left, right, starts, out, p);                                               \
  }                                                                                                \
  HONE_KERNEL(grouped_outer_##x##_##y##_##z, const X* left, const Y* right, const int32_t* starts, \
              const Z* onto, Z* out, Product p) {                                                  \
    add_outer_groups<W>(left, right, starts, onto, out, p);                                        \
  }
HONE_GROUPED(f64, double, f64, double, f64, double, double)
HONE_GROUPED(f32, float, f32, float, f32, float, float)
HONE_GROUPED(bf16, bf16, f32, float, f32, float, float)
HONE_GROUPED(f32, float, bf16, bf16, f32, float, float)
HONE_GROUPED(bf16, bf16, bf16, bf16, f32, float, float)
HONE_GROUPED(bf16, bf16, bf16, bf16, bf16, bf16, float)
HONE_GROUPED(f32, float, f32, float, bf16, bf16, float)
HONE_GROUPED(bf16, bf16, f32, float, bf16, bf16, float)
HONE_GROUPED(f32, float, bf16, bf16, bf16, bf16, float)
HONE_GROUPED(f16, f16, f32, float, f32, float, float)
HONE_GROUPED(f32, float, f16, f16, f32, float, float)
HONE_GROUPED(f16, f16, f16, f16, f32, float, float)
HONE_GROUPED(f16, f16, f16, f16, f16, f16, float)
HONE_GROUPED(f32, float, f32, float, f16, f16, float)
HONE_GROUPED(f16, f16, f32, float, f16, f16, float)
HONE_GROUPED(f32, float, f16, f16, f16, f16, float)

}  // namespace hone::cuda
