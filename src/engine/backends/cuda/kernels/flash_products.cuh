// Products of the tiles of attention by mma.sync: each warp multiplies its 16 rows (sm_80 and later). The kernels of
// attention take ByWarps, or ByWarpGroups of flash_warp_groups.cuh, whose fragments in registers are the same.
// Two neighbours z[2 k], z[2 k + 1] of a result, rounded and packed, are 16 columns of the next product's left
// side: probabilities never go through shared memory (Dao, arXiv 2307.08691, section 3).
#pragma once

#include "engine/backends/cuda/kernels/flash_tiles.cuh"

#ifdef HONE_HAS_FLASH
namespace hone::cuda {

// x[k]: the left side of columns 16 k to 16 k + 15.
template <class T, int kTiles>
__device__ __forceinline__ void pack_lefts(uint32_t (&x)[kTiles / 2][4], const float (&z)[kTiles][4]) {
  HONE_UNROLL
  for (int k = 0; k < kTiles / 2; ++k) pack_left<T>(x[k], z[2 * k], z[2 * k + 1]);
}

struct ByWarps {
  static constexpr int kGroup = 16;  // rows that are multiplied together
  static constexpr bool kTogether = false;

  // A left side that stays for many products. kHeld: its 16 rows are in registers (16 for 64 channels), else they
  // are loaded again for each product.
  template <class T, int kD, bool kHeld = true>
  struct Left {
    SharedPlace at;
    int panel;
    uint32_t x[kHeld ? kD / 16 : 1][4];
    // `tile`: of the block's rows.
    __device__ __forceinline__ void load(SharedPlace tile, int of_panel, const Lane& lane) {
      panel = of_panel;
      at = tile + static_cast<SharedPlace>(warp_of_block() * 16 * kRowBytes) + lane.columns;
      if constexpr (kHeld) {
        HONE_UNROLL
        for (int k = 0; k < kD / 16; ++k) load_matrices_at<false>(x[k], channels_at(at, k, panel));
      }
    }
  };

  // z = left times rows `tile` to `tile` + 8 kTiles - 1 of the right side, over kD channels.
  template <int kTiles, class T, int kD, bool kHeld>
  static __device__ __forceinline__ void dot(float (&z)[kTiles][4], const Left<T, kD, kHeld>& left,
                                             SharedPlace tile, int panel, const Lane& lane) {
    const SharedPlace at = tile + lane.rows;
    HONE_UNROLL
    for (int k = 0; k < kD / 16; ++k) {
      uint32_t x[4];
      if constexpr (kHeld) {
        for (int r = 0; r < 4; ++r) x[r] = left.x[k][r];
      } else {
        load_matrices_at<false>(x, channels_at(left.at, k, left.panel));
      }
      HONE_UNROLL
      for (int n = 0; n < kTiles; n += 2) {
        uint32_t y[4];
        load_matrices_at<false>(
            y, channels_at(at, k, panel) + static_cast<SharedPlace>(n * 8 * kRowBytes));
        if (k == 0) {
          multiply_first<T>(z[n], x, y[0], y[1]);
          multiply_first<T>(z[n + 1], x, y[2], y[3]);
        } else {
          multiply_onto<T>(z[n], x, y[0], y[1]);
          multiply_onto<T>(z[n + 1], x, y[2], y[3]);
        }
      }
    }
  }

  // z += x times 16 kSteps rows of the right side from `tile` on.
  template <class T, int kColumns, int kSteps>
  static __device__ __forceinline__ void add(float (&z)[kColumns][4], const uint32_t (&x)[kSteps][4],
                                             SharedPlace tile, int panel, const Lane& lane) {
    const SharedPlace at = tile + lane.columns;
    HONE_UNROLL
    for (int k = 0; k < kSteps; ++k)
      HONE_UNROLL
      for (int n = 0; n < kColumns; n += 2) {
        uint32_t y[4];
        load_matrices_at<true>(
            y, channels_at(at, n / 2, panel) + static_cast<SharedPlace>(k * 16 * kRowBytes));
        multiply_onto<T>(z[n], x[k], y[0], y[1]);
        multiply_onto<T>(z[n + 1], x[k], y[2], y[3]);
      }
  }

  // Products are done when they return.
  static __device__ __forceinline__ void begin() {}
  static __device__ __forceinline__ void commit() {}
  template <int kLeft = 0>
  static __device__ __forceinline__ void wait() {}
  template <int kTiles>
  static __device__ __forceinline__ void hold(float (&)[kTiles][4]) {}
  static __device__ __forceinline__ void wait_tiles() { wait_copies(); }
};

// Before products that add to z, and after them and the copies of the next tiles.
template <class By, class... Z>
__device__ __forceinline__ void begin_products(Z&... z) {
  (By::hold(z), ...);
  By::begin();
}
template <class By, class... Z>
__device__ __forceinline__ void finish_products(Z&... z) {
  By::wait_tiles();
  By::wait();
  (By::hold(z), ...);
}

}  // namespace hone::cuda
#endif
