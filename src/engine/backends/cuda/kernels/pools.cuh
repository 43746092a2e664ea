// max_pool2d, its gradient, avg_pool2d, drop_path and soft_cross_entropy (engine/ops). A thread has kSummedColumns channels
// of a place beside each other.
#pragma once

#include "engine/backends/cuda/kernels/column_packs.cuh"
#include "engine/backends/cuda/kernels/conv.cuh"
#include "engine/backends/cuda/kernels/philox.cuh"

namespace hone::cuda {

// Calls f(pack, image, row, column) for the places of `images` images of height x width.
template <class F>
__device__ __forceinline__ void for_places(const Conv& p, int height, int width, bool whole, F f) {
  constexpr int N = kSummedColumns;
  const int64_t channels = p.from_channels, packs = (channels + N - 1) / N;
  whole = whole && channels % N == 0;
  for (int64_t i = first_of_all(); i < int64_t{p.images} * height * width * packs;
       i += all_threads()) {
    const int64_t line = i / packs / width;
    f(ColumnPack{i % packs * N, channels, whole}, line / height, static_cast<int>(line % height),
      static_cast<int>(i / packs % width));
  }
}
// Calls f(tap, address) for the taps of a window that are inside of the image, in their order; until f returns false.
template <class F>
__device__ __forceinline__ void for_taps(const Conv& p, int64_t image, int row, int column, F f) {
  for (int r = 0; r < p.kernel_h; ++r) {
    const int h = row * p.stride_h - p.top + r * p.dilation_h;
    if (!is_inside(h, p.from_h)) continue;
    for (int s = 0; s < p.kernel_w; ++s) {
      const int w = column * p.stride_w - p.left + s * p.dilation_w;
      if (!is_inside(w, p.from_w)) continue;
      if (!f(r * p.kernel_w + s, ((image * p.from_h + h) * p.from_w + w) * p.from_channels)) return;
    }
  }
}

// kMean: the mean, else the largest; a NaN wins. of_taps: windows with their padding count.
template <bool kMean, class T>
__device__ __forceinline__ void pool(const T* x, T* y, const Conv& p, bool of_taps) {
  constexpr int N = kSummedColumns;
  for_places(p, p.to_h, p.to_w, is_whole(x) && is_whole(y),
             [&](const ColumnPack& pack, int64_t image, int row, int column) {
    float all[N];
    HONE_UNROLL
    for (int e = 0; e < N; ++e) all[e] = kMean ? 0.0f : -1.0f / 0.0f;
    int count = 0;
    for_taps(p, image, row, column, [&](int, int64_t at) {
      float v[N];
      pack.get(v, x + at + pack.first);
      HONE_UNROLL
      for (int e = 0; e < N; ++e)
        all[e] = kMean ? all[e] + v[e] : v[e] != v[e] || v[e] > all[e] ? v[e] : all[e];
      ++count;
      return true;
    });
    if (kMean) {
      const auto parts = static_cast<float>(of_taps ? p.kernel_h * p.kernel_w : count);
      HONE_UNROLL
      for (int e = 0; e < N; ++e) all[e] /= parts;
    }
    const int64_t to = ((image * p.to_h + row) * p.to_w + column) * p.from_channels;
    pack.put(y + to + pack.first, all);
  });
}

// dx of a pixel: dy of the windows whose first largest element it is, in the order of windows.
template <class T>
__device__ __forceinline__ void pool_grad(const T* x, const T* y, const T* dy, T* dx,
                                          const Conv& p) {
  constexpr int N = kSummedColumns;
  const bool whole = is_whole(x) && is_whole(y) && is_whole(dy) && is_whole(dx);
  for_places(p, p.from_h, p.from_w, whole,
             [&](const ColumnPack& pack, int64_t image, int h, int w) {
    const int64_t own = ((image * p.from_h + h) * p.from_w + w) * p.from_channels + pack.first;
    float mine[N], sum[N] = {};
    pack.get(mine, x + own);
    for (int r = p.kernel_h - 1; r >= 0; --r) {
      const int down = h + p.top - r * p.dilation_h, row = down / p.stride_h;
      if (down < 0 || down % p.stride_h != 0 || row >= p.to_h) continue;
      for (int s = p.kernel_w - 1; s >= 0; --s) {
        const int across = w + p.left - s * p.dilation_w, column = across / p.stride_w;
        if (across < 0 || across % p.stride_w != 0 || column >= p.to_w) continue;
        const int64_t at = ((image * p.to_h + row) * p.to_w + column) * p.from_channels + pack.first;
        float most[N], d[N];
        pack.get(most, y + at);
        pack.get(d, dy + at);
        int taken = 0;  // a bit for each channel that an earlier tap has, or that is smaller
        HONE_UNROLL
        for (int e = 0; e < N; ++e) taken |= mine[e] == most[e] ? 0 : 1 << e;
        for_taps(p, image, row, column, [&](int tap, int64_t from) {
          if (tap >= r * p.kernel_w + s || taken == (1 << N) - 1) return false;
          float v[N];
          pack.get(v, x + from + pack.first);
          HONE_UNROLL
          for (int e = 0; e < N; ++e) taken |= v[e] == most[e] ? 1 << e : 0;
          return true;
        });
        HONE_UNROLL
        for (int e = 0; e < N; ++e)
          if ((taken >> e & 1) == 0) sum[e] += d[e];
      }
    }
    pack.put(dx + own, sum);
  });
}

// Blocks along y have an image each.
template <class T>
__device__ __forceinline__ void drop_path(const T* x, const int64_t* rng, const int64_t* images,
                                          T* y, int64_t size, uint64_t place, uint32_t threshold,
                                          float scale) {
  const Key key = shared_key(rng, place);
  const int64_t image = blockIdx.y;
  const Words c = words_of(static_cast<uint64_t>(images[image]), 0);
  const bool kept = philox(c, key.k0, key.k1).w[0] >= threshold;
  constexpr int N = kPacked<T, T>;
  x += image * size;
  y += image * size;
  for_packs<N>(
      size, is_whole(x) && is_whole(y),
      [&](int64_t i) {
        float v[N] = {};
        if (kept) load<N>(v, x + i);
        HONE_UNROLL
        for (int e = 0; e < N; ++e) v[e] = kept ? v[e] * scale : 0.0f;
        store<N>(y + i, v);
      },
      [&](int64_t i) { y[i] = Narrow<T>::of(kept ? wide(x[i]) * scale : 0.0f); });
}

// nll of a row: a block for each.
HONE_KERNEL(soft_cross_entropy, const float* logits, const float* targets, float* nll, int64_t rows,
            int64_t columns) {
  const auto larger_one = [](float a, float b) { return b != b || b > a ? b : a; };
  const auto plus = [](float a, float b) { return a + b; };
  for (int64_t row = blockIdx.x; row < rows; row += gridDim.x) {
    const float *x = logits + row * columns, *t = targets + row * columns;
    float most = -1.0f / 0.0f, sum = 0, all = 0, dot = 0;
    for (int64_t j = threadIdx.x; j < columns; j += kBlock) most = larger_one(most, x[j]);
    most = reduce_block(most, larger_one);
    for (int64_t j = threadIdx.x; j < columns; j += kBlock) {
      const float shifted = x[j] - most;
      sum += expf(shifted);
      all += t[j];
      dot += t[j] * shifted;
    }
    sum = reduce_block(sum, plus);
    all = reduce_block(all, plus);
    dot = reduce_block(dot, plus);
    if (threadIdx.x == 0) nll[row] = all * logf(sum) - dot;
  }
}

#define HONE_POOLS(name, T)                                                                       \
  HONE_KERNEL(max_pool_##name, const T* x, T* y, Conv p) { pool<false>(x, y, p, false); }         \
  HONE_KERNEL(avg_pool_##name, const T* x, T* y, Conv p, int of_taps) {                           \
    pool<true>(x, y, p, of_taps != 0);                                                            \
  }                                                                                               \
  HONE_TILE_KERNEL(max_pool_grad_##name, const T* x, const T* y, const T* dy, T* dx, Conv p) {    \
    pool_grad(x, y, dy, dx, p);                                                                   \
  }                                                                                               \
  HONE_KERNEL(drop_path_##name, const T* x, const int64_t* rng, const int64_t* images, T* y,      \
              int64_t size, uint64_t place, uint32_t threshold, float scale) {                    \
    drop_path(x, rng, images, y, size, place, threshold, scale);                                  \
  }
HONE_POOLS(f32, float)
HONE_POOLS(bf16, bf16)
HONE_POOLS(f16, f16)

}  // namespace hone::cuda
