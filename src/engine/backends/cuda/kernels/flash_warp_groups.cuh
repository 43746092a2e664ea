// Products of the tiles of attention by wgmma (PTX ISA, sm_90a): four warps multiply their 64 rows, with the right
// side straight from shared memory. They run beside the warps: registers of a product may not be used from
// begin() until its wait(), which hold() says to the compiler. All four warps must take part.
#pragma once

#include "engine/backends/cuda/kernels/flash_products.cuh"

#ifdef __CUDA_ARCH_FEAT_SM90_ALL
#define HONE_HAS_WARP_GROUPS
namespace hone::cuda {

// The descriptor of a tile: swizzle of 128 bytes, groups of eight rows follow each other after 1,024 bytes.
// `panel`: bytes to the next 64 channels, which matters where rows of the tile are summed over.
__device__ __forceinline__ uint64_t describe_tile(uint32_t at, int panel) {
  return static_cast<uint64_t>((at & 0x3ffff) >> 4) | static_cast<uint64_t>(panel >> 4) << 16 |
         static_cast<uint64_t>(1024 >> 4) << 32 | 1ull << 62;
}

#define HONE_FOUR(z, n) "+f"(z[n][0]), "+f"(z[n][1]), "+f"(z[n][2]), "+f"(z[n][3])
#define HONE_THIRTY_TWO(z, n)                                                         \
  HONE_FOUR(z, n), HONE_FOUR(z, n + 1), HONE_FOUR(z, n + 2), HONE_FOUR(z, n + 3),     \
      HONE_FOUR(z, n + 4), HONE_FOUR(z, n + 5), HONE_FOUR(z, n + 6), HONE_FOUR(z, n + 7)
#define HONE_NAMES_32                                                                          \
  "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, " \
  "%20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31"
#define HONE_NAMES_64                                                                            \
  HONE_NAMES_32                                                                                  \
  ", %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, %48, %49, " \
  "%50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63"

template <class T>
struct WarpGroup;
// dot: z (+)= 64 rows at x times the 64 rows at y, over 16 channels. add: z += x times 16 rows at y.
#define HONE_WARP_GROUP(T, name)                                                                  \
  template <>                                                                                     \
  struct WarpGroup<T> {                                                                           \
    static __device__ __forceinline__ void dot(float (&z)[8][4], uint64_t x, uint64_t y,          \
                                               int onto) {                                        \
      asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %34, 0;\n"                                   \
                   "wgmma.mma_async.sync.aligned.m64n64k16.f32." name "." name " {" HONE_NAMES_32 \
                   "}, %32, %33, p, 1, 1, 0, 0;\n}"                                               \
                   : HONE_THIRTY_TWO(z, 0)                                                        \
                   : "l"(x), "l"(y), "r"(onto));                                                  \
    }                                                                                             \
    static __device__ __forceinline__ void add(float (&z)[8][4], const uint32_t (&x)[4],          \
                                               uint64_t y) {                                      \
      asm volatile("wgmma.mma_async.sync.aligned.m64n64k16.f32." name "." name " {" HONE_NAMES_32 \
                   "}, {%32, %33, %34, %35}, %36, 1, 1, 1, 1;\n"                                  \
                   : HONE_THIRTY_TWO(z, 0)                                                        \
                   : "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "l"(y));                         \
    }                                                                                             \
    static __device__ __forceinline__ void add(float (&z)[16][4], const uint32_t (&x)[4],         \
                                               uint64_t y) {                                      \
      asm volatile("wgmma.mma_async.sync.aligned.m64n128k16.f32." name "." name                   \
                   " {" HONE_NAMES_64 "}, {%64, %65, %66, %67}, %68, 1, 1, 1, 1;\n"               \
                   : HONE_THIRTY_TWO(z, 0), HONE_THIRTY_TWO(z, 8)                                 \
                   : "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "l"(y));                         \
    }                                                                                             \
  };
HONE_WARP_GROUP(bf16, "bf16")
HONE_WARP_GROUP(f16, "f16")

struct ByWarpGroups {
  static constexpr int kGroup = 64;
  static constexpr bool kTogether = true;

  template <class T, int kD, bool = true>
  struct Left {
    uint64_t described;
    int panel;
    __device__ __forceinline__ void load(SharedPlace tile, int of_panel, const Lane&) {
      panel = of_panel;
      described = describe_tile(tile, panel);
    }
  };

  template <class T, int kD, bool kHeld>
  static __device__ __forceinline__ void dot(float (&z)[8][4], const Left<T, kD, kHeld>& left,
                                             SharedPlace tile, int panel, const Lane&) {
    const uint64_t right = describe_tile(tile, panel);
    HONE_UNROLL
    for (int k = 0; k < kD / 16; ++k)
      WarpGroup<T>::dot(z, left.described + (k % 4 * 32 + k / 4 * left.panel) / 16,
                        right + (k % 4 * 32 + k / 4 * panel) / 16, k > 0);
  }
  template <class T, int kColumns, int kSteps>
  static __device__ __forceinline__ void add(float (&z)[kColumns][4], const uint32_t (&x)[kSteps][4],
                                             SharedPlace tile, int panel, const Lane&) {
    const uint64_t right = describe_tile(tile, panel);
    HONE_UNROLL
    for (int k = 0; k < kSteps; ++k) WarpGroup<T>::add(z, x[k], right + k * 16 * kRowBytes / 16);
  }

  static __device__ __forceinline__ void begin() {
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
  }
  static __device__ __forceinline__ void commit() {
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
  }
  template <int kLeft = 0>
  static __device__ __forceinline__ void wait() {
    asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(kLeft) : "memory");
  }
  template <int kTiles>
  static __device__ __forceinline__ void hold(float (&z)[kTiles][4]) {
    HONE_UNROLL
    for (int n = 0; n < kTiles; ++n)
      HONE_UNROLL
      for (int e = 0; e < 4; ++e) asm volatile("" : "+f"(z[n][e])::"memory");
  }
  // wgmma reads shared memory by another way than copies write it.
  static __device__ __forceinline__ void wait_tiles() {
    wait_copies();
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  }
};

}  // namespace hone::cuda
#endif
