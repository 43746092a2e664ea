// Products of small tiles by the 32 lanes of a warp, on tensor cores from sm_80 on (PTX ISA: ldmatrix,
// mma.sync.m16n8k16, with its fragments). Elements are bf16 or f16, sums are f32. Lane l has row l / 4 and
// l / 4 + 8 of a result, columns l % 4 * 2 and the next.
#pragma once

#include "engine/backends/cuda/kernels/kernel.cuh"

namespace hone::cuda {

struct alignas(16) SixteenBytes {
  uint32_t words[4];
};

#if defined(HONE_EMULATED) || __CUDA_ARCH__ >= 800
#define HONE_ON_TENSOR_CORES(...) __VA_ARGS__
#else
#define HONE_ON_TENSOR_CORES(...)  // such a kernel is never launched there
#endif

#ifdef HONE_EMULATED

template <class T>
float element_of(uint32_t pair, int e) {
  return wide(T{static_cast<uint16_t>(e == 0 ? pair : pair >> 16)});
}
template <class T>
uint32_t pack(float first, float second) {
  return Narrow<T>::of(first).bits | static_cast<uint32_t>(Narrow<T>::of(second).bits) << 16;
}

template <bool kTransposed, class T>
void load_matrices(uint32_t (&parts)[4], const T* row) {
  struct Mine {
    uint32_t* parts;
    const T* row;
  } mine{parts, row};
  emulate::together(&mine, [](void* const* lanes) {
    const auto at = [&](int m, int r, int c) -> uint32_t {
      return static_cast<const Mine*>(lanes[8 * m + r])->row[c].bits;
    };
    for (int lane = 0; lane < kWarp; ++lane)
      for (int m = 0; m < 4; ++m) {
        const int r = lane / 4, c = lane % 4 * 2;
        static_cast<Mine*>(lanes[lane])->parts[m] =
            kTransposed ? at(m, c, r) | at(m, c + 1, r) << 16 : at(m, r, c) | at(m, r, c + 1) << 16;
      }
  });
}

template <class T>
void multiply_onto(float (&z)[4], const uint32_t (&x)[4], uint32_t y0, uint32_t y1) {
  struct Mine {
    float* z;
    const uint32_t *x, *y;
  };
  const uint32_t y[2] = {y0, y1};
  Mine mine{z, x, y};
  emulate::together(&mine, [](void* const* lanes) {
    float of_x[16][16], of_y[16][8];
    for (int lane = 0; lane < kWarp; ++lane) {
      const auto& l = *static_cast<const Mine*>(lanes[lane]);
      const int g = lane / 4, c = lane % 4 * 2;
      for (int e = 0; e < 2; ++e) {
        for (int p = 0; p < 4; ++p)
          of_x[g + p % 2 * 8][c + p / 2 * 8 + e] = element_of<T>(l.x[p], e);
        for (int p = 0; p < 2; ++p) of_y[c + 8 * p + e][g] = element_of<T>(l.y[p], e);
      }
    }
    for (int lane = 0; lane < kWarp; ++lane)
      for (int e = 0; e < 4; ++e) {
        float& sum = static_cast<const Mine*>(lanes[lane])->z[e];
        for (int i = 0; i < 16; ++i)
          sum += of_x[lane / 4 + e / 2 * 8][i] * of_y[i][lane % 4 * 2 + e % 2];
      }
  });
}

#elif __CUDA_ARCH__ >= 800

template <class T>
struct Packed;
#define HONE_PACKED(T, name)                                                                 \
  template <>                                                                                \
  struct Packed<T> {                                                                         \
    static __device__ __forceinline__ uint32_t of(float first, float second) {               \
      uint32_t both;                                                                         \
      asm("cvt.rn." name "x2.f32 %0, %1, %2;" : "=r"(both) : "f"(second), "f"(first));       \
      return both;                                                                           \
    }                                                                                        \
    static __device__ __forceinline__ void multiply(float (&z)[4], const uint32_t (&x)[4],   \
                                                    uint32_t y0, uint32_t y1) {              \
      asm volatile(                                                                          \
          "mma.sync.aligned.m16n8k16.row.col.f32." name "." name                             \
          ".f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"             \
          : "+f"(z[0]), "+f"(z[1]), "+f"(z[2]), "+f"(z[3])                                   \
          : "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "r"(y0), "r"(y1));                   \
    }                                                                                        \
    static __device__ __forceinline__ void multiply_first(                                   \
        float (&z)[4], const uint32_t (&x)[4], uint32_t y0, uint32_t y1) {                   \
      asm volatile(                                                                          \
          "mma.sync.aligned.m16n8k16.row.col.f32." name "." name                             \
          ".f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%10, %10, %10, %10};"         \
          : "=f"(z[0]), "=f"(z[1]), "=f"(z[2]), "=f"(z[3])                                   \
          : "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "r"(y0), "r"(y1), "f"(0.0f));        \
    }                                                                                        \
  };
HONE_PACKED(bf16, "bf16")
HONE_PACKED(f16, "f16")

template <class T>
__device__ __forceinline__ uint32_t pack(float first, float second) {
  return Packed<T>::of(first, second);
}
// load_matrices() with the place in shared memory of this lane's row of eight elements.
template <bool kTransposed>
__device__ __forceinline__ void load_matrices_at(uint32_t (&parts)[4], uint32_t at) {
  if constexpr (kTransposed)
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(parts[0]), "=r"(parts[1]), "=r"(parts[2]), "=r"(parts[3])
                 : "r"(at)
                 : "memory");
  else
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(parts[0]), "=r"(parts[1]), "=r"(parts[2]), "=r"(parts[3])
                 : "r"(at)
                 : "memory");
}
template <bool kTransposed, class T>
__device__ __forceinline__ void load_matrices(uint32_t (&parts)[4], const T* row) {
  load_matrices_at<kTransposed>(parts, static_cast<uint32_t>(__cvta_generic_to_shared(row)));
}
template <class T>
__device__ __forceinline__ void multiply_onto(float (&z)[4], const uint32_t (&x)[4], uint32_t y0,
                                              uint32_t y1) {
  Packed<T>::multiply(z, x, y0, y1);
}

#else  // names alone

template <class T>
__device__ __forceinline__ uint32_t pack(float, float) {
  return 0;
}
template <bool kTransposed, class T>
__device__ __forceinline__ void load_matrices(uint32_t (&)[4], const T*) {}
template <class T>
__device__ __forceinline__ void multiply_onto(float (&)[4], const uint32_t (&)[4], uint32_t,
                                              uint32_t) {}

#endif

// Rows 0 to 15 and columns 0 to 15 at `tile`, as the left side of a product.
template <class T>
__device__ __forceinline__ void load_left(uint32_t (&x)[4], const T* tile, int step) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  load_matrices<false>(x, tile + lane % 16 * step + lane / 16 * 8);
}
// Loads the left side of a product from a tile that stores it transposed.
template <class T>
__device__ __forceinline__ void load_left_columns(uint32_t (&x)[4], const T* tile, int step) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  load_matrices<true>(x, tile + (lane % 8 + lane / 16 * 8) * step + lane / 8 % 2 * 8);
}
// Loads the right side of a product from a tile that stores it transposed. y[0], y[1]: its first eight columns; y[2],
// y[3]: the other eight.
template <class T>
__device__ __forceinline__ void load_right_rows(uint32_t (&y)[4], const T* tile, int step) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  load_matrices<false>(y, tile + (lane % 8 + lane / 16 * 8) * step + lane / 8 % 2 * 8);
}
// Loads the right side of a product from a tile that stores it as it is.
template <class T>
__device__ __forceinline__ void load_right(uint32_t (&y)[4], const T* tile, int step) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  load_matrices<true>(y, tile + lane % 16 * step + lane / 16 * 8);
}
// Two results beside each other, rounded, are 16 columns of a left side.
template <class T>
__device__ __forceinline__ void pack_left(uint32_t (&x)[4], const float (&first)[4],
                                          const float (&second)[4]) {
  x[0] = pack<T>(first[0], first[1]);
  x[1] = pack<T>(first[2], first[3]);
  x[2] = pack<T>(second[0], second[1]);
  x[3] = pack<T>(second[2], second[3]);
}

}  // namespace hone::cuda
