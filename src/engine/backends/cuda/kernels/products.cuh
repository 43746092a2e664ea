// Products of matrices with what follows them (matmul and linear of engine/ops), in a fixed order.
#pragma once

#include "engine/backends/cuda/kernels/activations.cuh"
#include "engine/backends/cuda/kernels/kernel.cuh"

namespace hone::cuda {

template <class W>
__device__ W rounded(W x, int round) {
  return round == 1   ? static_cast<W>(wide(to_bf16(static_cast<float>(x))))
         : round == 2 ? static_cast<W>(wide(to_f16(static_cast<float>(x))))
                      : x;
}

// pre[b] = x[b] y[b] + bias, z[b] = act(pre[b]) + onto[b]; bias, pre and onto may be null, and z may be onto.
// A tile of 16 x 16 for each block of 16 x 16 threads.
template <class W, class X, class Y, class Z>
__device__ void multiply(const X* x, const Y* y, const Z* bias, const Z* onto, Z* pre, Z* z,
                         Product p) {
  constexpr int kTile = 16;
  __shared__ W of_x[kTile][kTile + 1], of_y[kTile][kTile + 1];
  const int column = static_cast<int>(threadIdx.x), row = static_cast<int>(threadIdx.y);
  const int64_t batch = blockIdx.z;
  const int64_t j = static_cast<int64_t>(blockIdx.x) * kTile + column;
  x += batch * p.m * p.k;
  y += batch * p.k * p.n;
  // A grid has at most 65,535 blocks along y.
  for (int64_t first = static_cast<int64_t>(blockIdx.y) * kTile; first < p.m;
       first += static_cast<int64_t>(gridDim.y) * kTile) {
    const int64_t i = first + row;
    W sum = 0;
    for (int64_t l = 0; l < p.k; l += kTile) {
      W left = 0, right = 0;
      if (i < p.m && l + column < p.k)
        left = static_cast<W>(wide(x[i * p.row_x + (l + column) * p.column_x]));
      if (l + row < p.k && j < p.n)
        right = static_cast<W>(wide(y[(l + row) * p.row_y + j * p.column_y]));
      of_x[row][column] = rounded(left, p.round);
      of_y[row][column] = rounded(right, p.round);
      __syncthreads();
      for (int t = 0; t < kTile; ++t) sum += of_x[row][t] * of_y[t][column];
      __syncthreads();
    }
    if (i >= p.m || j >= p.n) continue;
    const int64_t at = (batch * p.m + i) * p.row_z + j;
    if (bias != nullptr) sum += static_cast<W>(wide(bias[j]));
    if (pre != nullptr) pre[at] = Narrow<Z>::of(sum);
    if (p.act != kNoActivation)  // of what is kept
      sum = static_cast<W>(activate(p.act, static_cast<float>(wide(Narrow<Z>::of(sum)))));
    if (onto != nullptr) sum += static_cast<W>(wide(onto[at]));
    z[at] = Narrow<Z>::of(sum);
  }
}

#define HONE_PRODUCT(x, X, y, Y, z, Z, W)                                                        \
  HONE_KERNEL(product_##x##_##y##_##z, const X* left, const Y* right, const Z* bias,             \
              const Z* onto, Z* pre, Z* out, Product p) {                                        \
    multiply<W>(left, right, bias, onto, pre, out, p);                                           \
  }
HONE_PRODUCT(f64, double, f64, double, f64, double, double)
HONE_PRODUCT(f32, float, f32, float, f32, float, float)
HONE_PRODUCT(bf16, bf16, f32, float, f32, float, float)
HONE_PRODUCT(f32, float, bf16, bf16, f32, float, float)
HONE_PRODUCT(bf16, bf16, bf16, bf16, f32, float, float)
HONE_PRODUCT(bf16, bf16, bf16, bf16, bf16, bf16, float)
HONE_PRODUCT(f32, float, f32, float, bf16, bf16, float)
HONE_PRODUCT(bf16, bf16, f32, float, bf16, bf16, float)
HONE_PRODUCT(f32, float, bf16, bf16, bf16, bf16, float)
HONE_PRODUCT(f16, f16, f32, float, f32, float, float)
HONE_PRODUCT(f32, float, f16, f16, f32, float, float)
HONE_PRODUCT(f16, f16, f16, f16, f32, float, float)
HONE_PRODUCT(f16, f16, f16, f16, f16, f16, float)
HONE_PRODUCT(f32, float, f32, float, f16, f16, float)
HONE_PRODUCT(f16, f16, f32, float, f16, f16, float)
HONE_PRODUCT(f32, float, f16, f16, f16, f16, float)

}  // namespace hone::cuda
