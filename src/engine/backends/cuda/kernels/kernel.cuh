// The common parts of all kernels: element types, packs of elements, indices of threads, sums of a block. A kernel is
// declared with HONE_KERNEL(name, arguments) { ... }, or with one of these macros, which set the most registers of a
// thread:
//   HONE_TILE_KERNEL      128, for blocks of kBlock threads
//   HONE_WARPS_KERNEL     255, for blocks of kFlashBlock threads
//   HONE_FLASH_KERNEL     so that the given number of blocks of kFlashBlock threads fit on a multiprocessor
//   HONE_ROW_KERNEL       64, for blocks of up to kRowThreads threads
//   HONE_WIDE_ROW_KERNEL  128, for blocks of up to kRowThreads threads
// The source is compiled for GPUs at run time, and for the CPU by ../emulator/kernels.cc, so it includes no headers of
// CUDA or the standard library.
#pragma once

#ifdef HONE_EMULATED
#define HONE_KERNEL(name, ...)                                           \
  void name(__VA_ARGS__);                                                \
  const bool name##_is_there = ::hone::emulate::add<&name>(#name);       \
  void name(__VA_ARGS__)
#define HONE_TILE_KERNEL HONE_KERNEL
#define HONE_WARPS_KERNEL HONE_KERNEL
#define HONE_ROW_KERNEL HONE_KERNEL
#define HONE_WIDE_ROW_KERNEL HONE_KERNEL
#define HONE_FLASH_KERNEL(blocks, name, ...) HONE_KERNEL(name, __VA_ARGS__)
#define HONE_DYNAMIC_SHARED(type, name) \
  type* name = reinterpret_cast<type*>(::hone::emulate::shared_bytes())
#define HONE_ALIGNED_SHARED(name) HONE_DYNAMIC_SHARED(uint8_t, name)
#define HONE_UNROLL
#define HONE_UNROLL_BY(count)
#else
using int8_t = signed char;
using uint8_t = unsigned char;
using uint16_t = unsigned short;
using int32_t = int;
using uint32_t = unsigned;
using int64_t = long long;
using uint64_t = unsigned long long;
// Selects the kernels to compile: those with a line `#define HONE_WANT_<name> ~, HONE_WANTED` before this text, or all
// if HONE_EVERY_KERNEL is defined. Other kernels become templates without an instance.
#define HONE_WANTED(...) extern "C" __global__ __VA_ARGS__
#define HONE_UNWANTED(...) template <int> __global__
#ifdef HONE_EVERY_KERNEL
#define HONE_ENTRY(name) HONE_WANTED
#else
#define HONE_ENTRY(name) HONE_PICK(HONE_WANT_##name, HONE_UNWANTED, ~)
#define HONE_PICK(...) HONE_SECOND(__VA_ARGS__)
#define HONE_SECOND(first, second, ...) second
#endif
#define HONE_KERNEL(name, ...) HONE_ENTRY(name)() void name(__VA_ARGS__)
#define HONE_TILE_KERNEL(name, ...) \
  HONE_ENTRY(name)(__launch_bounds__(256, 2)) void name(__VA_ARGS__)
#define HONE_WARPS_KERNEL(name, ...) \
  HONE_ENTRY(name)(__launch_bounds__(kFlashBlock)) void name(__VA_ARGS__)
#define HONE_FLASH_KERNEL(blocks, name, ...) \
  HONE_ENTRY(name)(__launch_bounds__(kFlashBlock, blocks)) void name(__VA_ARGS__)
#define HONE_ROW_KERNEL(name, ...) \
  HONE_ENTRY(name)(__launch_bounds__(kRowThreads, 2)) void name(__VA_ARGS__)
#define HONE_WIDE_ROW_KERNEL(name, ...) \
  HONE_ENTRY(name)(__launch_bounds__(kRowThreads)) void name(__VA_ARGS__)
#define HONE_DYNAMIC_SHARED(type, name)                      \
  extern __shared__ __align__(128) uint8_t dynamic_shared[]; \
  type* name = reinterpret_cast<type*>(dynamic_shared)
// Bytes aligned for the tiles of wgmma.
#define HONE_ALIGNED_SHARED(name) extern __shared__ __align__(1024) uint8_t name[]
#define HONE_UNROLL _Pragma("unroll")
#define HONE_UNROLL_BY(count) HONE_PRAGMA(unroll count)
#define HONE_PRAGMA(text) _Pragma(#text)
#endif
#include "engine/backends/cuda/kernels/arguments.h"

namespace hone::cuda {

#ifdef HONE_EMULATED
struct alignas(16) Quad {
  uint32_t x, y, z, w;
};
struct alignas(8) Pair {
  uint32_t x, y;
};
#else  // CUDA's own types: the compiler does not split an access to them
using Quad = uint4;
using Pair = uint2;
#endif

struct bf16 {
  uint16_t bits;
};
struct f16 {
  uint16_t bits;
};

#ifdef HONE_EMULATED
inline float wide(f16 x) { return f16_to_f32(x.bits); }
inline f16 to_f16(float x) { return {f32_to_f16(x)}; }
#else
__device__ __forceinline__ float wide(f16 x) {
  float y;
  asm("cvt.f32.f16 %0, %1;" : "=f"(y) : "h"(x.bits));
  return y;
}
__device__ __forceinline__ f16 to_f16(float x) {
  f16 y;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(y.bits) : "f"(x));
  return y;
}
#endif

__device__ __forceinline__ float wide(bf16 x) {
  return __uint_as_float(static_cast<uint32_t>(x.bits) << 16);
}
__device__ __forceinline__ bf16 to_bf16(float x) {
  const uint32_t bits = __float_as_uint(x);
  if (x != x) return {static_cast<uint16_t>(bits >> 16 | 0x40)};
  return {static_cast<uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16)};
}

// Wide<T> is the type in which elements of type T are computed: float for bf16 and f16, else T.
template <class T>
struct WideOf {
  using type = T;
};
template <>
struct WideOf<bf16> {
  using type = float;
};
template <>
struct WideOf<f16> {
  using type = float;
};
template <class T>
using Wide = typename WideOf<T>::type;

template <class T>
__device__ __forceinline__ T wide(T x) {
  return x;
}

// Narrow<T>::of(x): x rounded to the nearest number of type T.
template <class T>
struct Narrow {
  template <class W>
  static __device__ __forceinline__ T of(W x) {
    return static_cast<T>(x);
  }
};
template <>
struct Narrow<bf16> {
  template <class W>
  static __device__ __forceinline__ bf16 of(W x) {
    return to_bf16(static_cast<float>(x));
  }
};
template <>
struct Narrow<f16> {
  template <class W>
  static __device__ __forceinline__ f16 of(W x) {
    return to_f16(static_cast<float>(x));
  }
};

// The threads of a grid of one dimension share n elements by:
//   for (int64_t i = first_of_all(); i < n; i += all_threads())
__device__ __forceinline__ int64_t first_of_all() {
  return static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
}
__device__ __forceinline__ int64_t all_threads() {
  return static_cast<int64_t>(gridDim.x) * blockDim.x;
}

// N adjacent elements, which are loaded and stored together.
template <class T, int N>
struct alignas(sizeof(T) * N < 16 ? sizeof(T) * N : 16) Pack {
  T of[N];
};
// The number of elements of the larger of two types that fit into 16 bytes.
template <class T, class U>
constexpr int kPacked = 16 / (sizeof(T) > sizeof(U) ? sizeof(T) : sizeof(U));

// Whether an address is a multiple of 16 bytes, so that packs can be loaded from it. Views may begin at any address.
__device__ __forceinline__ bool is_whole(const void* at) {
  return reinterpret_cast<uint64_t>(at) % 16 == 0;
}
// Stores 16 or 8 bytes with one instruction. The compiler would split the store if it cannot see the alignment.
#ifdef HONE_EMULATED
template <class R>
void put_words(void* to, R words) {
  *static_cast<R*>(to) = words;
}
#else
__device__ __forceinline__ void put_words(void* to, Quad q) {
  asm volatile("st.global.v4.b32 [%0], {%1, %2, %3, %4};" ::"l"(__cvta_generic_to_global(to)),
               "r"(q.x), "r"(q.y), "r"(q.z), "r"(q.w)
               : "memory");
}
__device__ __forceinline__ void put_words(void* to, Pair p) {
  asm volatile("st.global.v2.b32 [%0], {%1, %2};" ::"l"(__cvta_generic_to_global(to)), "r"(p.x),
               "r"(p.y)
               : "memory");
}
#endif
template <int N, class T>
__device__ __forceinline__ Pack<T, N> get_pack(const T* from) {
  constexpr int kBytes = sizeof(T) * N;
  Pack<T, N> pack;
  if constexpr (kBytes >= 16) {
    HONE_UNROLL
    for (int i = 0; i < kBytes / 16; ++i)
      reinterpret_cast<Quad*>(&pack)[i] = reinterpret_cast<const Quad*>(from)[i];
  } else {
    pack = *reinterpret_cast<const Pack<T, N>*>(from);
  }
  return pack;
}
// Stores a pack to global memory.
template <class T, int N>
__device__ __forceinline__ void put_pack(T* to, const Pack<T, N>& pack) {
  constexpr int kBytes = sizeof(T) * N;
  if constexpr (kBytes >= 16) {
    HONE_UNROLL
    for (int i = 0; i < kBytes / 16; ++i)
      put_words(reinterpret_cast<Quad*>(to) + i, reinterpret_cast<const Quad*>(&pack)[i]);
  } else if constexpr (kBytes == 8) {
    put_words(to, *reinterpret_cast<const Pair*>(&pack));
  } else {
    *reinterpret_cast<Pack<T, N>*>(to) = pack;
  }
}
template <int N, class T>
__device__ __forceinline__ void load(Wide<T> (&x)[N], const T* from) {
  const Pack<T, N> pack = get_pack<N>(from);
  HONE_UNROLL
  for (int e = 0; e < N; ++e) x[e] = wide(pack.of[e]);
}
template <int N, class T, class W>
__device__ __forceinline__ void store(T* to, const W (&x)[N]) {
  Pack<T, N> pack;
  HONE_UNROLL
  for (int e = 0; e < N; ++e) pack.of[e] = Narrow<T>::of(x[e]);
  put_pack(to, pack);
}

// Covers elements [0, n) in turns of kMapped elements for each block. In whole turns it calls pack(i) for the N
// elements from i on. In the last, incomplete turn, and if `whole` is false (is_whole() of the addresses), it calls
// one(i) for each element.
template <int N, class P, class O>
__device__ __forceinline__ void for_packs(int64_t n, bool whole, P pack, O one) {
  const int tid = static_cast<int>(threadIdx.x);
  for (int64_t begin = static_cast<int64_t>(blockIdx.x) * kMapped; begin < n;
       begin += static_cast<int64_t>(gridDim.x) * kMapped) {
    const int here = n - begin < kMapped ? static_cast<int>(n - begin) : kMapped;
    if (whole && here == kMapped) {
      HONE_UNROLL
      for (int at = 0; at < kMapped; at += N * kBlock) pack(begin + at + tid * N);
    } else {
      for (int at = tid; at < here; at += kBlock) one(begin + at);
    }
  }
}

constexpr unsigned kAllLanes = 0xffffffffu;

__device__ __forceinline__ float sum_warp(float x) {
  for (int step = kWarp / 2; step > 0; step /= 2) x += __shfl_xor_sync(kAllLanes, x, step);
  return x;
}

// Combines the values of all kThreads threads of the block with f, in a fixed order. Every thread gets the result.
template <int kThreads = kBlock, class T, class F>
__device__ T reduce_block(T x, F f) {
  __shared__ T of_warp[kThreads / kWarp];
  for (int step = kWarp / 2; step > 0; step /= 2) x = f(x, __shfl_xor_sync(kAllLanes, x, step));
  const int warp = static_cast<int>(threadIdx.x) / kWarp;
  if (static_cast<int>(threadIdx.x) % kWarp == 0) of_warp[warp] = x;
  __syncthreads();
  T all = of_warp[0];
  for (int w = 1; w < kThreads / kWarp; ++w) all = f(all, of_warp[w]);
  __syncthreads();
  return all;
}

// The address of element i, in row-major order, of a view.
__device__ __forceinline__ int64_t place_of(const Strided& s, int64_t i) {
  int64_t at = s.first;
  for (int d = s.rank - 1; d >= 0; --d) {
    at += i % s.size[d] * s.stride[d];
    i /= s.size[d];
  }
  return at;
}

// The segment of token t: the largest s with starts[s] <= t.
__device__ __forceinline__ int64_t segment_of(const int32_t* starts, int64_t segments, int64_t t) {
  int64_t low = 0, high = segments;
  while (low + 1 < high) {
    const int64_t middle = (low + high) / 2;
    if (starts[middle] <= t)
      low = middle;
    else
      high = middle;
  }
  return low;
}

}  // namespace hone::cuda
