// Biases of relative distances in the tiles of attention (T5, arXiv 1910.10683, section 2.1), and their gradient.
#pragma once

#include "engine/backends/cuda/kernels/flash_tiles.cuh"

#ifdef HONE_HAS_FLASH
namespace hone::cuda {

// The biases of a lane's scores, times log2 e: for columns 8 t + 2 p + e and rows g and g + 8 of a tile they depend on
// t - half and e alone. NaN beyond the reach, so that a bias too short for its sequences cannot pass unseen.
struct Biases {
  float of[9][2];
  // `bias`: of the head, `columns`: 2 reach - 1; `at`: the bias of column 2 p and row g; kStep: 1 if columns are
  // keys, -1 if they are queries.
  template <int kStep>
  __device__ __forceinline__ void load(const float* bias, int at, int columns) {
    HONE_UNROLL
    for (int d = 0; d < 9; ++d)
      HONE_UNROLL
      for (int e = 0; e < 2; ++e) {
        const int i = at + kStep * ((d - 1) * 8 + e);
        of[d][e] = static_cast<unsigned>(i) < static_cast<unsigned>(columns)
                       ? bias[i] * kLog2e
                       : __uint_as_float(0x7fc00000u);
      }
  }
  // s = scale s + bias.
  template <int kTiles>
  __device__ __forceinline__ void add(float (&s)[kTiles][4], float scale) const {
    HONE_UNROLL
    for (int t = 0; t < kTiles; ++t)
      HONE_UNROLL
      for (int e = 0; e < 4; ++e) s[t][e] = fmaf(s[t][e], scale, of[t - e / 2 + 1][e % 2]);
  }
};

struct alignas(8) FloatPair {
  float first, second;
};

__device__ __forceinline__ void clear_parts(float* parts, int columns) {
  for (int c = static_cast<int>(threadIdx.x); c < columns; c += kFlashBlock) parts[c] = 0;
}
// Adds the diagonals of a tile of gradients of scores, with rows of kBiasStep, to the gradient of the biases of their distances: a thread for each of 127. `column`: of
// the bias of row 0 and column 0.
__device__ __forceinline__ void add_tile_diagonals(const float* tile, float* parts, int column,
                                                   int columns) {
  const int u = static_cast<int>(threadIdx.x) - (kFlashTile - 1);  // column - row
  if (u >= kFlashTile || static_cast<unsigned>(column + u) >= static_cast<unsigned>(columns)) return;
  float sum = 0;
  const int end = u > 0 ? kFlashTile - u : kFlashTile;
  HONE_UNROLL_BY(4)
  for (int r = u < 0 ? -u : 0; r < end; ++r) sum += tile[r * kBiasStep + r + u];
  parts[column + u] += sum;
}

}  // namespace hone::cuda
#endif
