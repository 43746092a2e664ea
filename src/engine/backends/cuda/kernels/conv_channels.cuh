// conv2d and its gradients where each channel has a filter of its own. A thread has kSummedColumns channels beside each
// other at kConvSpan places of a row of an image, and reads a column of a filter's row once for all of them.
#pragma once

#include "engine/backends/cuda/kernels/column_packs.cuh"
#include "engine/backends/cuda/kernels/conv.cuh"

namespace hone::cuda {

// Adds one row of the filter to the sums of kConvSpan places from `first` on. of_row: the row of the image, of_taps: that
// of the filter.
template <class T>
__device__ __forceinline__ void conv_row_of_filter(float (&sum)[kConvSpan][kSummedColumns],
                                                   const ColumnPack& quad, const T* of_row,
                                                   const float* of_taps, const ConvAxis& a,
                                                   int first, int size, int round) {
  constexpr int N = kSummedColumns, S = kConvSpan;
  const bool slides = a.step == 1 && (a.delta == 1 || a.delta == -1);
  float v[S][N];
  const auto fetch = [&](float(&to)[N], int place, int tap) {
    const int column = place * a.step + a.base + tap * a.delta;
    HONE_UNROLL
    for (int e = 0; e < N; ++e) to[e] = 0;
    if (!is_inside(column, size)) return;
    quad.get(to, of_row + int64_t{column} * quad.channels);
    HONE_UNROLL
    for (int e = 0; e < N; ++e) to[e] = rounded(to[e], round);
  };
  for (int k = 0; k < a.count; ++k) {
    const int tap = a.delta > 0 ? k : a.count - 1 - k;  // columns go up
    if (slides && k > 0) {
      HONE_UNROLL
      for (int q = 0; q + 1 < S; ++q)
        HONE_UNROLL
        for (int e = 0; e < N; ++e) v[q][e] = v[q + 1][e];
      fetch(v[S - 1], first + S - 1, tap);
    } else {
      HONE_UNROLL
      for (int q = 0; q < S; ++q) fetch(v[q], first + q, tap);
    }
    float weight[N];
    quad.get(weight, of_taps + int64_t{a.first + tap * a.next} * quad.channels);
    HONE_UNROLL
    for (int q = 0; q < S; ++q)
      HONE_UNROLL
      for (int e = 0; e < N; ++e) sum[q][e] += v[q][e] * weight[e];
  }
}

// y = x by w [taps, channels] + bias + onto, which may be null.
template <class T>
__device__ __forceinline__ void conv_channels(const T* x, const float* w, const void* bias,
                                              const void* onto, void* y, const Conv& p) {
  constexpr int N = kSummedColumns, S = kConvSpan;
  const ConvAxes a = conv_axes(p, static_cast<int>(blockIdx.y));
  const int channels = p.from_channels;
  const int64_t quads = (channels + N - 1) / N, spans = (a.w.size + S - 1) / S;
  const bool whole = channels % N == 0 && is_whole(x) && is_whole(w) && is_whole(bias) &&
                     is_whole(onto) && is_whole(y);
  for (int64_t i = first_of_all(); i < p.images * a.h.size * spans * quads; i += all_threads()) {
    const ColumnPack quad = {i % quads * N, channels, whole};
    const int64_t line = i / quads / spans, image = line / a.h.size;
    const int first = static_cast<int>(i / quads % spans) * S, h = static_cast<int>(line % a.h.size);
    float sum[S][N] = {};
    for (int r = 0; r < a.h.count; ++r) {
      const int row = h * a.h.step + a.h.base + r * a.h.delta;
      if (!is_inside(row, p.from_h)) continue;
      const int64_t taps = int64_t{a.h.first + r * a.h.next} * p.kernel_w;
      conv_row_of_filter(sum, quad, x + (image * p.from_h + row) * p.from_w * channels + quad.first,
                         w + taps * channels + quad.first, a.w, first, p.from_w, p.round);
    }
    float added[N] = {};
    if (bias != nullptr) quad.get_from(added, bias, p.bias, quad.first);
    const int64_t to_row = (image * p.to_h + h * a.h.spread + a.h.phase) * p.to_w;
    HONE_UNROLL
    for (int q = 0; q < S; ++q) {
      if (first + q >= a.w.size) continue;
      const int64_t to = (to_row + (first + q) * a.w.spread + a.w.phase) * channels + quad.first;
      float more[N] = {};
      if (onto != nullptr) quad.get_from(more, onto, p.result, to);
      HONE_UNROLL
      for (int e = 0; e < N; ++e) sum[q][e] += added[e] + more[e];
      quad.put_to(y, p.result, to, sum[q]);
    }
  }
}

// Parts of dw: parts[part, tap, channel]. A warp has a channel in each lane, up to kConvTaps taps of a row of the filter,
// and the rows of results [part * size, (part + 1) * size) of all images.
template <class T>
__device__ __forceinline__ void conv_channel_parts(const T* x, const void* dy, Element of_dy,
                                                   float* parts, const Conv& p, int64_t rows,
                                                   int64_t size) {
  constexpr int N = kConvTaps;
  const int lane = static_cast<int>(threadIdx.x) % kWarp, channels = p.from_channels;
  const int64_t unit = first_of_all() / kWarp, across = (channels + kWarp - 1) / kWarp,
                chunks = (p.kernel_w + N - 1) / N;
  const int64_t channel = unit % across * kWarp + lane, part = unit / across / chunks / p.kernel_h;
  const int first = static_cast<int>(unit / across % chunks) * N,
            r = static_cast<int>(unit / across / chunks % p.kernel_h);
  if (part * size >= rows || channel >= channels) return;
  const int64_t end = (part + 1) * size < rows ? (part + 1) * size : rows;
  const bool slides = p.stride_w == 1 && p.dilation_w == 1;
  float sum[N] = {};
  for (int64_t line = part * size; line < end; ++line) {
    const int64_t image = line / p.to_h;
    const int h = static_cast<int>(line % p.to_h) * p.stride_h - p.top + r * p.dilation_h;
    if (!is_inside(h, p.from_h)) continue;
    const T* const of_x = x + (image * p.from_h + h) * p.from_w * channels + channel;
    const int64_t first_dy = line * p.to_w * channels + channel;
    const auto fetch = [&](int place, int e) {
      const int column = place * p.stride_w - p.left + (first + e) * p.dilation_w;
      const bool is_there = first + e < p.kernel_w && is_inside(column, p.from_w);
      return is_there ? rounded(wide(of_x[int64_t{column} * channels]), p.round) : 0.0f;
    };
    float v[N];
    for (int w = 0; w < p.to_w; ++w) {
      const float d =
          rounded(element_at(dy, of_dy, first_dy + int64_t{w} * channels), p.round);
      if (slides && w > 0) {
        const int last = p.kernel_w - first < N ? p.kernel_w - first - 1 : N - 1;
        const float next = fetch(w, last);
        HONE_UNROLL
        for (int e = 0; e < N; ++e) v[e] = e == last ? next : e + 1 < N ? v[e + 1] : 0.0f;
      } else {
        HONE_UNROLL
        for (int e = 0; e < N; ++e) v[e] = fetch(w, e);
      }
      HONE_UNROLL
      for (int e = 0; e < N; ++e) sum[e] += d * v[e];
    }
  }
  HONE_UNROLL
  for (int e = 0; e < N; ++e)
    if (first + e < p.kernel_w)
      parts[((part * p.kernel_h + r) * p.kernel_w + first + e) * channels + channel] = sum[e];
}

#define HONE_CONV_CHANNELS(name, T)                                                               \
  HONE_TILE_KERNEL(conv_channels_##name, const T* x, const float* w, const void* bias,            \
                   const void* onto, void* y, Conv p) {                                           \
    conv_channels(x, w, bias, onto, y, p);                                                        \
  }                                                                                               \
  HONE_TILE_KERNEL(conv_channel_parts_##name, const T* x, const void* dy, Element of_dy,          \
                   float* parts, Conv p, int64_t rows, int64_t size) {                            \
    conv_channel_parts(x, dy, of_dy, parts, p, rows, size);                                       \
  }
HONE_CONV_CHANNELS(f32, float)
HONE_CONV_CHANNELS(bf16, bf16)
HONE_CONV_CHANNELS(f16, f16)

}  // namespace hone::cuda
