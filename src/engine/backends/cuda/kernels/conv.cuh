// Places and weights of convolutions (arguments.h: Conv), which conv_products.cuh and conv_channels.cuh share.
#pragma once

#include "engine/backends/cuda/kernels/column_packs.cuh"
#include "engine/backends/cuda/kernels/kernel.cuh"
#include "engine/backends/cuda/kernels/products.cuh"

namespace hone::cuda {

// Rows or columns of images. Place i in [0, size) is written at i spread + phase. Its tap t in [0, count) is the
// kernel's tap first + t next, and reads i step + base + t delta.
struct ConvAxis {
  int count, first, next, base, delta, step, size, phase, spread;
};
// Of a gradient: the pixels of one phase, whose taps i + top - r dilation are multiples of the stride.
__device__ __forceinline__ ConvAxis conv_axis(int kernel, int to, int stride, int before,
                                              int dilation, bool back, int phase) {
  if (!back) return {kernel, 0, 1, -before, dilation, stride, to, 0, 1};
  int common = stride, rest = dilation;
  while (rest != 0) {
    const int left = common % rest;
    common = rest;
    rest = left;
  }
  ConvAxis a;
  a.next = stride / common;
  const int most = kernel < a.next ? kernel : a.next;
  a.first = 0;
  while (a.first < most && (phase + before - a.first * dilation) % stride != 0) ++a.first;
  a.count = a.first < most ? (kernel - 1 - a.first) / a.next + 1 : 0;
  a.base = (phase + before - a.first * dilation) / stride;
  a.delta = -(dilation / common);
  a.step = 1;
  a.size = (to - phase + stride - 1) / stride;
  a.phase = phase;
  a.spread = stride;
  return a;
}
struct ConvAxes {
  ConvAxis h, w;
};
__device__ __forceinline__ ConvAxes conv_axes(const Conv& p, int phase) {
  const int phases = p.to_w < p.stride_w ? p.to_w : p.stride_w;
  return {conv_axis(p.kernel_h, p.to_h, p.stride_h, p.top, p.dilation_h, p.back, phase / phases),
          conv_axis(p.kernel_w, p.to_w, p.stride_w, p.left, p.dilation_w, p.back, phase % phases)};
}

// Where the windows of a row of the product begin: the image's first pixel, and the row and column of tap 0 in it.
// pixel -1: there is no such row.
struct ConvPlace {
  int pixel, h, w;
};
__device__ __forceinline__ ConvPlace conv_place(const Conv& p, const ConvAxes& a, int image, int h,
                                                int w) {
  return {image < p.images ? image * p.from_h * p.from_w : -1, h * a.h.step + a.h.base,
          w * a.w.step + a.w.base};
}
__device__ __forceinline__ bool is_inside(int at, int size) {
  return static_cast<unsigned>(at) < static_cast<unsigned>(size);
}

// A tap and a channel of the sum; those from count on are no part of it.
struct ConvTap {
  int h, w, c;
  __device__ __forceinline__ void advance(int by, int inner, int count_w) {
    if (inner == 0 || count_w == 0) return;
    for (c += by; c >= inner;) {
      c -= inner;
      if (++w == count_w) {
        w = 0;
        ++h;
      }
    }
  }
};

// Eight elements of a row of the product from `tap` on, with zeros where there are none. x: of this group's first channel.
// whole: inner is a multiple of eight, and so is each address.
template <class T>
__device__ __forceinline__ void conv_gather(Pack<T, 8>& v, const T* x, const Conv& p,
                                            const ConvAxes& a, const ConvPlace& at, ConvTap tap,
                                            bool whole) {
  const auto element = [&] {
    const int h = at.h + tap.h * a.h.delta, w = at.w + tap.w * a.w.delta;
    const bool is_there = at.pixel >= 0 && tap.h < a.h.count && is_inside(h, p.from_h) &&
                          is_inside(w, p.from_w);
    return is_there
               ? static_cast<int64_t>(at.pixel + h * p.from_w + w) * p.from_channels + tap.c
               : -1;
  };
  v = {};
  if (whole) {
    const int64_t from = element();
    if (from >= 0) v = get_pack<8>(x + from);
    return;
  }
  HONE_UNROLL
  for (int e = 0; e < 8; ++e) {
    const int64_t from = element();
    if (from >= 0) v.of[e] = x[from];
    tap.advance(1, p.inner, a.w.count);
  }
}

// [outer, rows, columns] as [outer, columns, rows], rounded as in Product. A block of 32 x 8 threads for a tile.
template <class T, class U>
__device__ __forceinline__ void turn_weight(const T* in, U* out, const Turned& t, int round) {
  __shared__ float tile[kWarp][kWarp + 1];
  const int lane = static_cast<int>(threadIdx.x), turn = static_cast<int>(threadIdx.y);
  const int64_t across = (t.columns + kWarp - 1) / kWarp, down = (t.rows + kWarp - 1) / kWarp;
  for (int64_t i = blockIdx.x; i < t.outer * across * down; i += gridDim.x) {
    const int64_t row = i / across % down * kWarp, column = i % across * kWarp;
    const int64_t first = i / across / down * t.rows * t.columns;
    for (int r = turn; r < kWarp; r += 8)
      if (row + r < t.rows && column + lane < t.columns)
        tile[r][lane] =
            rounded(wide(in[first + (row + r) * t.columns + column + lane]), round);
    __syncthreads();
    for (int c = turn; c < kWarp; c += 8)
      if (column + c < t.columns && row + lane < t.rows)
        out[first + (column + c) * t.rows + row + lane] = Narrow<U>::of(tile[lane][c]);
    __syncthreads();
  }
}
#define HONE_TURN_WEIGHT(name, T, U)                                                             \
  HONE_KERNEL(turn_weight_##name, const T* in, U* out, Turned t, int round) {                    \
    turn_weight(in, out, t, round);                                                              \
  }
HONE_TURN_WEIGHT(f32_f32, float, float)
HONE_TURN_WEIGHT(f32_bf16, float, bf16)
HONE_TURN_WEIGHT(f32_f16, float, f16)
HONE_TURN_WEIGHT(bf16_f32, bf16, float)
HONE_TURN_WEIGHT(bf16_bf16, bf16, bf16)
HONE_TURN_WEIGHT(f16_f32, f16, float)
HONE_TURN_WEIGHT(f16_f16, f16, f16)

// dw [groups, columns, inner, taps] = onto (or nothing) + the parts [count, groups, taps, inner, columns], in order.
HONE_KERNEL(sum_weight, const float* parts, const void* onto, void* out, Element type, int64_t count,
            int64_t groups, int64_t taps, int64_t inner, int64_t columns) {
  const int64_t all = groups * taps * inner * columns;
  for (int64_t i = first_of_all(); i < all; i += all_threads()) {
    float sum = 0;
    HONE_UNROLL_BY(4)
    for (int64_t part = 0; part < count; ++part) sum += parts[part * all + i];
    const int64_t k = i % columns, c = i / columns % inner, tap = i / columns / inner % taps;
    const int64_t at = ((i / columns / inner / taps * columns + k) * inner + c) * taps + tap;
    put_element(out, type, at, onto != nullptr ? sum + element_at(onto, type, at) : sum);
  }
}

}  // namespace hone::cuda
