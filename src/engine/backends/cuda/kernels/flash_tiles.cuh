// Tiles of bf16 or f16 in shared memory for attention. A tile has rows of 64 channels (128 bytes) whose 16-byte
// piece c is at place c ^ (row % 8): eight rows of one column then are in all 32 banks, so that ldmatrix has no
// conflicts, and it is the swizzle of 128 bytes of wgmma. A head of 128 channels has two such panels, one after
// the other. Blocks have kFlashBlock threads.
#pragma once

#include "engine/backends/cuda/kernels/flash_instructions.cuh"

#ifdef HONE_HAS_FLASH
namespace hone::cuda {

constexpr int kRowBytes = 128;  // of a tile

// The place of a lane in results and tiles. Results z[n][e] of 16 rows by 8 n columns are those of mma.sync and of
// wgmma: z[n][0], z[n][1] of row g, z[n][2], z[n][3] of row g + 8; columns 8 n + 2 p and the next.
struct Lane {
  int number, g, p;
  uint32_t rows;     // bytes to what it loads of a right side by rows: four matrices of 8 x 8, rows by columns
  uint32_t columns;  // the same of a left side, and of a right side by columns
  __device__ __forceinline__ Lane() {
    number = static_cast<int>(threadIdx.x) % kWarp;
    g = number / 4;
    p = number % 4;
    rows = static_cast<uint32_t>((number % 8 + number / 16 * 8) * kRowBytes +
                                 (number / 8 % 2 ^ number % 8) * 16);
    columns = static_cast<uint32_t>(number % 16 * kRowBytes + (number / 16 ^ number % 8) * 16);
  }
};
// From the place of the first 16 channels to those of `step`: pieces are swizzled, so that two of them further is
// an xor. `panel`: bytes of a panel.
__device__ __forceinline__ SharedPlace channels_at(SharedPlace at, int step, int panel) {
  return (at ^ static_cast<SharedPlace>(step % 4 * 32)) +
         static_cast<SharedPlace>(step / 4 * panel);
}

// Loads tiles of kRows tokens of a matrix one after the other: each thread has the address of its 16-byte piece of
// every kBetween-th row of the next tile.
template <int kD, int kRows, class T>
struct TileLoader {
  static constexpr int kPieces = kD / 8, kBetween = kFlashBlock / kPieces, kEach = kRows / kBetween;
  static_assert(kRows % kBetween == 0 && kBetween % 8 == 0);
  const char* at;
  uint32_t to;
  // `from`: the first token of the first tile; `row`: elements from a token to the next.
  __device__ __forceinline__ TileLoader(const T* from, int64_t row) {
    const int tid = static_cast<int>(threadIdx.x), piece = tid % kPieces, first = tid / kPieces;
    to = static_cast<uint32_t>(piece / 8 * kRows * kRowBytes + first * kRowBytes +
                               (piece % 8 ^ first % 8) * 16);
    at = reinterpret_cast<const char*>(from + first * row + piece * 8);
  }
  // Skips elements of the matrix.
  __device__ __forceinline__ void skip(int64_t elements) { at += elements * 2; }
  // Begins the copies of a tile: zeros past `count` tokens and past `size` channels.
  __device__ __forceinline__ void load(SharedPlace tile, int64_t row, int count, int size) {
    const int64_t step = row * (kBetween * 2);
    if (count >= kRows && size == kD) {
      HONE_UNROLL
      for (int i = 0; i < kEach; ++i) {
        copy_async(tile + to + static_cast<SharedPlace>(i * kBetween * kRowBytes), at);
        at += step;
      }
    } else {
      const int tid = static_cast<int>(threadIdx.x);
      const int rows = tid % kPieces * 8 < size ? count - tid / kPieces : 0;
      HONE_UNROLL
      for (int i = 0; i < kEach; ++i) {
        copy_async(tile + to + static_cast<SharedPlace>(i * kBetween * kRowBytes), at,
                   i * kBetween < rows ? 16 : 0);
        at += step;
      }
    }
  }
};
template <int kD, int kRows, class T>
__device__ __forceinline__ void load_tile(SharedPlace tile, const T* from, int64_t row, int count,
                                          int size) {
  TileLoader<kD, kRows, T>(from, row).load(tile, row, count, size);
}

// The keys and values of a segment, kFlashTile at a time: two buffers of each in shared memory.
template <int kD, class T>
struct KeyStream {
  static constexpr int kTile = kFlashTile * kD * 2;  // bytes
  SharedPlace at;
  int64_t row_k, row_v;
  int count, size;  // keys of the segment, channels of the head
  TileLoader<kD, kFlashTile, T> of_keys, of_values;
  // `token`: of the first tile.
  __device__ __forceinline__ KeyStream(SharedPlace memory, const T* k, const T* v, int64_t token,
                                       int kv_head, int keys, const Attention& a)
      : at(memory),
        row_k(a.row_k),
        row_v(a.row_v),
        count(keys),
        size(a.size),
        of_keys(k + token * a.row_k + kv_head * a.size, a.row_k),
        of_values(v + token * a.row_v + kv_head * a.size, a.row_v) {}
  __device__ __forceinline__ SharedPlace keys(int stage) const {
    return at + static_cast<SharedPlace>(stage * kTile);
  }
  __device__ __forceinline__ SharedPlace values(int stage) const {
    return at + static_cast<SharedPlace>((2 + stage) * kTile);
  }
  // Begins the copies of the next tile, which begins with key j0 of the segment.
  __device__ __forceinline__ void load(int stage, int j0) {
    of_keys.load(keys(stage), row_k, count - j0, size);
    of_values.load(values(stage), row_v, count - j0, size);
  }
};

// Stores a warp's 16 rows of z, times f0 (rows g) and f1 (rows g + 8), below `count`, to rows `to`, which are
// `step` elements apart. They go through its own 16 rows of a tile (`mine`), so that 16 bytes are written at once.
template <int kD, class T>
__device__ __forceinline__ void store_tile(uint8_t* mine, int panel, T* to, int64_t step, int count,
                                           int size, const float (&z)[kD / 8][4], float f0, float f1,
                                           const Lane& lane) {
  uint8_t* const put = mine + lane.g * kRowBytes + lane.p * 4;
  __syncwarp(kAllLanes);  // other lanes may have read these rows
  HONE_UNROLL
  for (int n = 0; n < kD / 8; ++n) {
    uint8_t* const at = put + n / 8 * panel + (n % 8 ^ lane.g) * 16;
    *reinterpret_cast<uint32_t*>(at) = pack<T>(z[n][0] * f0, z[n][1] * f0);
    *reinterpret_cast<uint32_t*>(at + 8 * kRowBytes) = pack<T>(z[n][2] * f1, z[n][3] * f1);
  }
  __syncwarp(kAllLanes);
  constexpr int kPieces = kD / 8, kBetween = kWarp / kPieces;
  const int piece = lane.number % kPieces, first = lane.number / kPieces;
  const int rows = piece * 8 < size ? count - first : 0;
  const uint8_t* const from = mine + piece / 8 * panel + first * kRowBytes;
  char* at = reinterpret_cast<char*>(to + first * step + piece * 8);
  const int64_t between = step * (kBetween * 2);
  HONE_UNROLL
  for (int i = 0; i < 16 / kBetween; ++i) {
    const int row = first + i * kBetween;
    const SixteenBytes x = *reinterpret_cast<const SixteenBytes*>(
        from + i * kBetween * kRowBytes + (piece % 8 ^ row % 8) * 16);
    if (i * kBetween < rows) *reinterpret_cast<SixteenBytes*>(at) = x;
    at += between;
  }
}

// The sums of the first `count` rows of a tile that store_tile() has stored, to[channel], after a barrier. A row belongs to
// four warps: they read it from shared memory, and registers of results are free by then.
template <class T>
__device__ __forceinline__ void sum_tile_rows(const uint8_t* tile, int panel, float* to, int count,
                                              int size) {
  const int rows = smaller(count, kFlashTile);
  for (int c = static_cast<int>(threadIdx.x); c < size; c += kFlashBlock) {
    const uint8_t* const column = tile + c / 64 * panel + c % 8 * 2;
    float sum = 0;
    for (int row = 0; row < rows; ++row)
      sum += wide(*reinterpret_cast<const T*>(column + row * kRowBytes + (c / 8 % 8 ^ row % 8) * 16));
    to[c] = sum;
  }
}
// Those of a tile that does not exist.
__device__ __forceinline__ void clear_tile_sums(float* to, int size) {
  for (int c = static_cast<int>(threadIdx.x); c < size; c += kFlashBlock) to[c] = 0.0f;
}

}  // namespace hone::cuda
#endif
