// What all kernels share: element types, places of threads, sums of a block. A kernel is
// HONE_KERNEL(name, arguments) { ... }, or HONE_TILE_KERNEL where threads need up to 128 registers, or
// HONE_WARPS_KERNEL for kFlashBlock threads that need up to 255. Its source is compiled for GPUs at run
// time, and for the CPU by ../emulator/kernels.cc, so it includes nothing of CUDA or of the standard library.
#pragma once

#ifdef HONE_EMULATED
#define HONE_KERNEL(name, ...)                                           \
  void name(__VA_ARGS__);                                                \
  const bool name##_is_there = ::hone::emulate::add<&name>(#name);       \
  void name(__VA_ARGS__)
#define HONE_TILE_KERNEL HONE_KERNEL
#define HONE_WARPS_KERNEL HONE_KERNEL
#define HONE_DYNAMIC_SHARED(type, name) \
  type* name = reinterpret_cast<type*>(::hone::emulate::shared_bytes())
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
// Code is made of the kernels that are wanted: those with a line `#define HONE_WANT_<name> ~, HONE_WANTED`
// before this text, or all with HONE_EVERY_KERNEL. Others are templates that nobody instantiates.
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
#define HONE_DYNAMIC_SHARED(type, name)                      \
  extern __shared__ __align__(128) uint8_t dynamic_shared[]; \
  type* name = reinterpret_cast<type*>(dynamic_shared)
#define HONE_UNROLL _Pragma("unroll")
#define HONE_UNROLL_BY(count) HONE_PRAGMA(unroll count)
#define HONE_PRAGMA(text) _Pragma(#text)
#endif
#include "engine/backends/cuda/kernels/arguments.h"

namespace hone::cuda {

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

// Elements are computed with in `Wide<T>`: float for floats of 16 bits, other types in themselves.
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

// The nearest element of type T.
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

// Of a grid of one dimension: for (int64_t i = first_of_all(); i < n; i += all_threads()).
__device__ __forceinline__ int64_t first_of_all() {
  return static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
}
__device__ __forceinline__ int64_t all_threads() {
  return static_cast<int64_t>(gridDim.x) * blockDim.x;
}

constexpr unsigned kAllLanes = 0xffffffffu;

__device__ __forceinline__ float sum_warp(float x) {
  for (int step = kWarp / 2; step > 0; step /= 2) x += __shfl_xor_sync(kAllLanes, x, step);
  return x;
}

// f over the values of all kBlock threads, in a fixed order; every thread gets it.
template <class T, class F>
__device__ T reduce_block(T x, F f) {
  __shared__ T of_warp[kBlock / kWarp];
  for (int step = kWarp / 2; step > 0; step /= 2) x = f(x, __shfl_xor_sync(kAllLanes, x, step));
  const int warp = static_cast<int>(threadIdx.x) / kWarp;
  if (static_cast<int>(threadIdx.x) % kWarp == 0) of_warp[warp] = x;
  __syncthreads();
  T all = of_warp[0];
  for (int w = 1; w < kBlock / kWarp; ++w) all = f(all, of_warp[w]);
  __syncthreads();
  return all;
}

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
