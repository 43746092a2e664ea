// conv2d and its gradients as products of tiles whose elements are gathered from the images: nothing is written but
// results (implicit GEMM; Chetlur et al., cuDNN, arXiv 1410.0759, section 3). Operands of 16 bits, or of f32 that are
// rounded, are multiplied on tensor cores from sm_80 on, others in f32. The next tile is read into registers while
// one is multiplied. A sum has one order, which depends on shapes alone.
#pragma once

#include "engine/backends/cuda/kernels/conv.cuh"
#include "engine/backends/cuda/kernels/matrix.cuh"

namespace hone::cuda {

// What a core multiplies: tiles of kConvRows x kConvDepth and kConvColumns x kConvDepth, which threads put by eight
// elements. kByDepth: eight rows or columns beside each other, else eight of the sum.
//   put_left(turn, row, depth, v), put_right(turn, column, depth, v), multiply(turn), and
//   each(f) for f(row, column, z of column, z of column + 1)
template <class T, class U, bool kByDepth>
struct ConvTensorCores {
  using W = U;
  static constexpr int kBuffers = 2, kLeft = kByDepth ? kConvRows + 8 : kConvDepth + 8,
                       kRight = kByDepth ? kConvColumns + 8 : kConvDepth + 8,
                       kLeftSize = kByDepth ? kConvDepth * kLeft : kConvRows * kLeft,
                       kRightSize = kByDepth ? kConvDepth * kRight : kConvColumns * kRight,
                       kSize = kLeftSize + kRightSize;
  static constexpr int kSharedBytes = kBuffers * kSize * 2;
  U* tiles;
  int row, column;  // of this warp
  float z[2][4][4];

  __device__ __forceinline__ explicit ConvTensorCores(void* shared)
      : tiles(static_cast<U*>(shared)) {
    const int warp = static_cast<int>(threadIdx.x) / kWarp;
    row = warp % 4 * 32;
    column = warp / 4 * 32;
    HONE_UNROLL
    for (int i = 0; i < 2; ++i)
      HONE_UNROLL
      for (int n = 0; n < 4; ++n)
        HONE_UNROLL
        for (int e = 0; e < 4; ++e) z[i][n][e] = 0;
  }
  static __device__ __forceinline__ SixteenBytes words(const Pack<U, 8>& v) {
    return *reinterpret_cast<const SixteenBytes*>(&v);
  }
  static __device__ __forceinline__ SixteenBytes words(const Pack<float, 8>& v) {
    SixteenBytes b;
    HONE_UNROLL
    for (int e = 0; e < 4; ++e) b.words[e] = pack<U>(v.of[2 * e], v.of[2 * e + 1]);
    return b;
  }
  template <class V>
  __device__ __forceinline__ void put_left(int turn, int i, int depth, const V& v, int) {
    const int at = kByDepth ? depth * kLeft + i : i * kLeft + depth;
    *reinterpret_cast<SixteenBytes*>(tiles + turn * kSize + at) = words(v);
  }
  template <class V>
  __device__ __forceinline__ void put_right(int turn, int j, int depth, const V& v, int) {
    const int at = kByDepth ? depth * kRight + j : j * kRight + depth;
    *reinterpret_cast<SixteenBytes*>(tiles + turn * kSize + kLeftSize + at) = words(v);
  }
  __device__ __forceinline__ void multiply(int turn) {
    const U *left = tiles + turn * kSize, *right = left + kLeftSize;
    HONE_UNROLL
    for (int k = 0; k < kConvDepth; k += 16) {
      uint32_t x[2][4];
      HONE_UNROLL
      for (int i = 0; i < 2; ++i) {
        if constexpr (kByDepth)
          load_left_columns(x[i], left + k * kLeft + row + 16 * i, kLeft);
        else
          load_left(x[i], left + (row + 16 * i) * kLeft + k, kLeft);
      }
      HONE_UNROLL
      for (int n = 0; n < 4; n += 2) {
        uint32_t y[4];
        if constexpr (kByDepth)
          load_right(y, right + k * kRight + column + 8 * n, kRight);
        else
          load_right_rows(y, right + (column + 8 * n) * kRight + k, kRight);
        HONE_UNROLL
        for (int i = 0; i < 2; ++i) {
          multiply_onto<U>(z[i][n], x[i], y[0], y[1]);
          multiply_onto<U>(z[i][n + 1], x[i], y[2], y[3]);
        }
      }
    }
  }
  template <class F>
  __device__ __forceinline__ void each(F f) const {
    const int lane = static_cast<int>(threadIdx.x) % kWarp;
    HONE_UNROLL
    for (int i = 0; i < 2; ++i)
      HONE_UNROLL
      for (int half = 0; half < 2; ++half)
        HONE_UNROLL
        for (int n = 0; n < 4; ++n)
          f(row + 16 * i + 8 * half + lane / 4, column + 8 * n + lane % 4 * 2, z[i][n][2 * half],
            z[i][n][2 * half + 1]);
  }
};

// In f32: a thread has 8 x 4 results.
template <class T, bool kByDepth>
struct ConvCores {
  using W = float;
  static constexpr int kBuffers = 1, kLeft = kConvRows + 4, kRight = kConvColumns + 4;
  static constexpr int kSharedBytes = kConvDepth * (kLeft + kRight) * 4;
  float *left, *right;
  int row, column;
  float z[8][4];

  __device__ __forceinline__ explicit ConvCores(void* shared)
      : left(static_cast<float*>(shared)), right(left + kConvDepth * kLeft) {
    row = static_cast<int>(threadIdx.x) / 16 * 8;
    column = static_cast<int>(threadIdx.x) % 16 * 4;
    HONE_UNROLL
    for (int i = 0; i < 8; ++i)
      HONE_UNROLL
      for (int n = 0; n < 4; ++n) z[i][n] = 0;
  }
  template <class V>
  static __device__ __forceinline__ void put(float* to, const Pack<V, 8>& v, int step, int round) {
    Pack<float, 8> f;
    HONE_UNROLL
    for (int e = 0; e < 8; ++e) f.of[e] = rounded(wide(v.of[e]), round);
    if constexpr (kByDepth) {
      *reinterpret_cast<Pack<float, 8>*>(to) = f;
    } else {
      HONE_UNROLL
      for (int e = 0; e < 8; ++e) to[e * step] = f.of[e];
    }
  }
  template <class V>
  __device__ __forceinline__ void put_left(int, int i, int depth, const V& v, int round) {
    put(left + depth * kLeft + i, v, kByDepth ? 1 : kLeft, round);
  }
  template <class V>
  __device__ __forceinline__ void put_right(int, int j, int depth, const V& v, int round) {
    put(right + depth * kRight + j, v, kByDepth ? 1 : kRight, round);
  }
  __device__ __forceinline__ void multiply(int) {
    HONE_UNROLL_BY(4)
    for (int k = 0; k < kConvDepth; ++k) {
      const Pack<float, 8> x = *reinterpret_cast<const Pack<float, 8>*>(left + k * kLeft + row);
      const Pack<float, 4> y = *reinterpret_cast<const Pack<float, 4>*>(right + k * kRight + column);
      HONE_UNROLL
      for (int i = 0; i < 8; ++i)
        HONE_UNROLL
        for (int n = 0; n < 4; ++n) z[i][n] += x.of[i] * y.of[n];
    }
  }
  template <class F>
  __device__ __forceinline__ void each(F f) const {
    HONE_UNROLL
    for (int i = 0; i < 8; ++i)
      HONE_UNROLL
      for (int n = 0; n < 4; n += 2) f(row + i, column + n, z[i][n], z[i][n + 1]);
  }
};

// Multiplies `chunks` of tiles. read(chunk) loads a tile into registers, put(turn) puts it into shared memory.
template <class Core, class Read, class Put>
__device__ __forceinline__ void conv_multiply(Core& core, int chunks, Read read, Put put) {
  if (chunks > 0) read();
  for (int chunk = 0; chunk < chunks; ++chunk) {
    const int turn = chunk % Core::kBuffers;
    put(turn);
    __syncthreads();
    if (chunk + 1 < chunks) read();
    core.multiply(turn);
    if (Core::kBuffers == 1) __syncthreads();
  }
}

// Eight elements of a column of the product from `tap` on: the weight of that column, or none (`is_there`).
template <class W>
__device__ __forceinline__ void conv_weight(Pack<W, 8>& v, const W* of_column, const Conv& p,
                                            const ConvAxes& a, ConvTap tap, bool is_there,
                                            bool whole) {
  const auto at = [&] {
    const int row = a.h.first + tap.h * a.h.next, column = a.w.first + tap.w * a.w.next;
    return (row * p.kernel_w + column) * p.inner + tap.c;
  };
  v = {};
  if (!is_there) return;
  if (whole) {
    if (tap.h < a.h.count) v = get_pack<8>(of_column + at());
    return;
  }
  HONE_UNROLL
  for (int e = 0; e < 8; ++e) {
    if (tap.h < a.h.count) v.of[e] = of_column[at()];
    tap.advance(1, p.inner, a.w.count);
  }
}

// The tile of a block of conv_rows: its rows' places, and where they are written; -1: there is no such row.
struct ConvTile {
  ConvPlace places[kConvRows];
  int64_t targets[kConvRows];

  __device__ __forceinline__ void fill(const Conv& p, const ConvAxes& a, int first_row, int group) {
    const int tid = static_cast<int>(threadIdx.x), size = a.h.size * a.w.size;
    if (tid >= kConvRows) return;
    const int row = first_row + tid, image = row / size, h = row % size / a.w.size,
              w = row % a.w.size;
    places[tid] = conv_place(p, a, image, h, w);
    const int64_t pixel = (int64_t{image} * p.to_h + h * a.h.spread + a.h.phase) * p.to_w +
                          w * a.w.spread + a.w.phase;
    targets[tid] = image < p.images ? pixel * p.to_channels + group * p.columns : -1;
  }
};

// Writes the tile's results from column `first` of the group on.
template <class Core>
__device__ __forceinline__ void conv_write(const Core& core, const ConvTile& tile, int group,
                                           int first, const void* bias, const void* onto, void* y,
                                           const Conv& p) {
  const bool pairs = p.columns % 2 == 0 && is_whole(y);
  core.each([&](int row, int at, float z0, float z1) {
    if (tile.targets[row] < 0) return;
    const int column = first + at;
    const int64_t to = tile.targets[row] + column;
    float z[2] = {z0, z1};
    HONE_UNROLL
    for (int e = 0; e < 2; ++e) {
      if (column + e >= p.columns) continue;
      if (bias != nullptr) z[e] += element_at(bias, p.bias, group * p.columns + column + e);
      if (onto != nullptr) z[e] += element_at(onto, p.result, to + e);
      if (!pairs) put_element(y, p.result, to + e, z[e]);
    }
    if (!pairs || column >= p.columns) return;
    if (p.result == Element::f32)
      store<2>(static_cast<float*>(y) + to, z);
    else if (p.result == Element::bf16)
      store<2>(static_cast<bf16*>(y) + to, z);
    else
      store<2>(static_cast<f16*>(y) + to, z);
  });
}

// y = the product + bias + onto, which may be null; onto may be y.
template <class Core, class T>
__device__ __forceinline__ void conv_rows(const T* x, const typename Core::W* w, const void* bias,
                                          const void* onto, void* y, const Conv& p) {
  using W = typename Core::W;
  __shared__ ConvTile tile;
  __shared__ SixteenBytes tiles[Core::kSharedBytes / 16];
  const int tid = static_cast<int>(threadIdx.x), group = static_cast<int>(blockIdx.z) % p.groups;
  const ConvAxes a = conv_axes(p, static_cast<int>(blockIdx.z) / p.groups);
  const int column_tiles = (p.columns + kConvColumns - 1) / kConvColumns;
  const int first_column = static_cast<int>(blockIdx.x) % column_tiles * kConvColumns;
  const int64_t first_row = int64_t{blockIdx.x} / column_tiles * kConvRows;
  if (first_row >= int64_t{p.images} * a.h.size * a.w.size) return;
  tile.fill(p, a, static_cast<int>(first_row), group);
  __syncthreads();
  x += group * p.inner;
  const int depth = tid % 4 * 8, mine = tid / 4, column = first_column + mine;
  const ConvPlace first = tile.places[mine], second = tile.places[mine + kConvRows / 2];
  const bool whole = p.inner % 8 == 0 && p.from_channels % 8 == 0 && is_whole(x) && is_whole(w);
  const W* of_column = w + int64_t{group * p.columns + column} * p.kernel_h * p.kernel_w * p.inner;
  ConvTap tap = {0, 0, 0};
  tap.advance(depth, p.inner, a.w.count);
  Pack<T, 8> left[2];
  Pack<W, 8> right;
  const auto read = [&] {
    conv_gather(left[0], x, p, a, first, tap, whole);
    conv_gather(left[1], x, p, a, second, tap, whole);
    conv_weight(right, of_column, p, a, tap, column < p.columns, whole);
    tap.advance(kConvDepth, p.inner, a.w.count);
  };
  Core core(tiles);
  const auto put = [&](int turn) {
    core.put_left(turn, mine, depth, left[0], p.round);
    core.put_left(turn, mine + kConvRows / 2, depth, left[1], p.round);
    core.put_right(turn, mine, depth, right, 0);
  };
  const int all = a.h.count * a.w.count * p.inner;
  conv_multiply(core, (all + kConvDepth - 1) / kConvDepth, read, put);
  conv_write(core, tile, group, first_column, bias, onto, y, p);
}

// Eight columns of dy, of which `there` are in the group.
template <class T>
__device__ __forceinline__ void conv_columns(Pack<T, 8>& v, const T* from, int there, bool whole) {
  v = {};
  if (whole) {
    if (there > 0) v = get_pack<8>(from);
    return;
  }
  HONE_UNROLL
  for (int e = 0; e < 8; ++e)
    if (e < there) v.of[e] = from[e];
}

// Parts of dw over positions: parts[part, group, tap, inner channel, column of dy].
template <class Core, class T, class D>
__device__ __forceinline__ void conv_parts(const T* x, const D* dy, float* parts,
                                           const ConvParts& all) {
  const Conv& p = all.of;
  __shared__ SixteenBytes tiles[Core::kSharedBytes / 16];
  const int tid = static_cast<int>(threadIdx.x), group = static_cast<int>(blockIdx.z) % p.groups;
  const int64_t part = static_cast<int>(blockIdx.z) / p.groups;
  const ConvAxes a = conv_axes(p, 0);
  const int column_tiles = (p.columns + kConvColumns - 1) / kConvColumns;
  const int first_column = static_cast<int>(blockIdx.x) % column_tiles * kConvColumns;
  const int first_row = static_cast<int>(blockIdx.x) / column_tiles * kConvRows;
  const int rows = p.kernel_h * p.kernel_w * p.inner;
  const int64_t begin = part * all.part_positions,
                end = begin + all.part_positions < all.positions ? begin + all.part_positions
                                                                  : all.positions;
  // Eight rows at two positions, and eight columns at one.
  const int mine = tid / 16, row = tid % 16 * 8;
  const ConvTap tap = {(first_row + row) / p.inner / p.kernel_w,
                       (first_row + row) / p.inner % p.kernel_w, (first_row + row) % p.inner};
  const int depth = tid / 8, column = tid % 8 * 8;
  const bool whole = p.inner % 8 == 0 && is_whole(x + group * p.inner) && p.from_channels % 8 == 0;
  const bool whole_dy = p.columns % 8 == 0 && is_whole(dy);
  x += group * p.inner;
  dy += group * p.columns + first_column + column;
  const int there = p.columns - first_column - column;
  Pack<T, 8> left[2];
  Pack<D, 8> right;
  int64_t position = begin;
  const auto read = [&] {
    HONE_UNROLL
    for (int e = 0; e < 2; ++e) {
      const int64_t at = position + mine + e * 16;
      const int i = static_cast<int>(at < end ? at : 0), size = p.to_h * p.to_w;
      ConvPlace place = conv_place(p, a, i / size, i % size / p.to_w, i % p.to_w);
      if (at >= end) place.pixel = -1;
      conv_gather(left[e], x, p, a, place, tap, whole);
    }
    const int64_t at = position + depth;
    conv_columns(right, dy + at * p.to_channels, at < end ? there : 0, whole_dy);
    position += kConvDepth;
  };
  Core core(tiles);
  const auto put = [&](int turn) {
    core.put_left(turn, row, mine, left[0], p.round);
    core.put_left(turn, row, mine + 16, left[1], p.round);
    core.put_right(turn, column, depth, right, p.round);
  };
  const int64_t count = end > begin ? end - begin : 0;
  conv_multiply(core, static_cast<int>((count + kConvDepth - 1) / kConvDepth), read, put);
  parts += (part * p.groups + group) * rows * p.columns;
  core.each([&](int i, int j, float z0, float z1) {
    if (first_row + i >= rows) return;
    float* const to = parts + int64_t{first_row + i} * p.columns + first_column + j;
    if (first_column + j < p.columns) to[0] = z0;
    if (first_column + j + 1 < p.columns) to[1] = z1;
  });
}

#define HONE_CONV(name, T)                                                                        \
  HONE_TILE_KERNEL(conv_##name, const T* x, const float* w, const void* bias, const void* onto,   \
                   void* y, Conv p) {                                                             \
    conv_rows<ConvCores<T, false>>(x, w, bias, onto, y, p);                                       \
  }
HONE_CONV(f32, float)
HONE_CONV(bf16, bf16)
HONE_CONV(f16, f16)
#define HONE_CONV_PARTS(name, T, D)                                                               \
  HONE_TILE_KERNEL(conv_parts_##name, const T* x, const D* dy, float* parts, ConvParts p) {       \
    conv_parts<ConvCores<T, true>>(x, dy, parts, p);                                              \
  }
HONE_CONV_PARTS(f32_f32, float, float)
HONE_CONV_PARTS(bf16_bf16, bf16, bf16)
HONE_CONV_PARTS(f16_f16, f16, f16)
HONE_CONV_PARTS(f32_bf16, float, bf16)
HONE_CONV_PARTS(bf16_f32, bf16, float)
HONE_CONV_PARTS(f32_f16, float, f16)
HONE_CONV_PARTS(f16_f32, f16, float)

#define HONE_CONV_ON_TENSOR_CORES(name, T, U)                                                     \
  HONE_TILE_KERNEL(conv_##name, const T* x, const U* w, const void* bias, const void* onto,       \
                   void* y, Conv p) {                                                             \
    HONE_ON_TENSOR_CORES(conv_rows<ConvTensorCores<T, U, false>>(x, w, bias, onto, y, p);)        \
  }
HONE_CONV_ON_TENSOR_CORES(f32_by_bf16, float, bf16)
HONE_CONV_ON_TENSOR_CORES(f32_by_f16, float, f16)
HONE_CONV_ON_TENSOR_CORES(bf16_by_bf16, bf16, bf16)
HONE_CONV_ON_TENSOR_CORES(f16_by_f16, f16, f16)
#define HONE_CONV_PARTS_ON_TENSOR_CORES(name, T, D, U)                                            \
  HONE_TILE_KERNEL(conv_parts_##name, const T* x, const D* dy, float* parts, ConvParts p) {       \
    HONE_ON_TENSOR_CORES(conv_parts<ConvTensorCores<T, U, true>>(x, dy, parts, p);)               \
  }
HONE_CONV_PARTS_ON_TENSOR_CORES(f32_f32_by_bf16, float, float, bf16)
HONE_CONV_PARTS_ON_TENSOR_CORES(f32_bf16_by_bf16, float, bf16, bf16)
HONE_CONV_PARTS_ON_TENSOR_CORES(bf16_f32_by_bf16, bf16, float, bf16)
HONE_CONV_PARTS_ON_TENSOR_CORES(bf16_bf16_by_bf16, bf16, bf16, bf16)
HONE_CONV_PARTS_ON_TENSOR_CORES(f32_f32_by_f16, float, float, f16)
HONE_CONV_PARTS_ON_TENSOR_CORES(f32_f16_by_f16, float, f16, f16)
HONE_CONV_PARTS_ON_TENSOR_CORES(f16_f32_by_f16, f16, float, f16)
HONE_CONV_PARTS_ON_TENSOR_CORES(f16_f16_by_f16, f16, f16, f16)

}  // namespace hone::cuda
