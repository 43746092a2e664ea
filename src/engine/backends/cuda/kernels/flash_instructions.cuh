// Instructions of sm_80 and later for attention in tiles (PTX ISA: cp.async, ex2, lg2, ldmatrix), by names that the
// emulator has too. Places in shared memory are numbers of bytes, which address arithmetic needs.
#pragma once

#include "engine/backends/cuda/kernels/matrix.cuh"

#if defined(HONE_EMULATED) || __CUDA_ARCH__ >= 800
#define HONE_HAS_FLASH  // other GPUs have the kernels' names alone
#endif

#ifdef HONE_HAS_FLASH
namespace hone::cuda {

constexpr float kLog2e = 1.4426950408889634f, kLn2 = 0.6931471805599453f;
constexpr float kNothing = __builtin_bit_cast(float, 0xff800000u);  // -inf

#ifdef HONE_EMULATED

using SharedPlace = uintptr_t;
inline SharedPlace shared_place(const void* p) { return reinterpret_cast<uintptr_t>(p); }
inline void copy_async(SharedPlace to, const void* from, int bytes = 16) {
  emulate::copy_later(reinterpret_cast<void*>(to), from, bytes);
}
inline void commit_copies() { emulate::commit_copies(); }
inline void wait_copies() { emulate::finish_copies(); }
inline float exp2_fast(float x) { return exp2f(x); }
inline float log2_fast(float x) { return log2f(x); }
inline void pin(int&) {}
template <bool kTransposed>
void load_matrices_at(uint32_t (&parts)[4], SharedPlace at) {
  load_matrices<kTransposed>(parts, reinterpret_cast<const bf16*>(at));  // f16 has as many bits
}
template <class T>
void multiply_first(float (&z)[4], const uint32_t (&x)[4], uint32_t y0, uint32_t y1) {
  for (float& e : z) e = 0;
  multiply_onto<T>(z, x, y0, y1);
}

#else

using SharedPlace = uint32_t;
__device__ __forceinline__ SharedPlace shared_place(const void* p) {
  return static_cast<uint32_t>(__cvta_generic_to_shared(p));
}
// Begins a copy of 16 bytes to shared memory, of which those from `bytes` (0 or 16) on are zeros and not read.
__device__ __forceinline__ void copy_async(SharedPlace to, const void* from, int bytes) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(bytes)
               : "memory");
}
__device__ __forceinline__ void copy_async(SharedPlace to, const void* from) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to), "l"(from) : "memory");
}
__device__ __forceinline__ void commit_copies() {
  asm volatile("cp.async.commit_group;" ::: "memory");
}
// Waits for this thread's copies; other threads see them after a barrier.
__device__ __forceinline__ void wait_copies() {
  asm volatile("cp.async.wait_group 0;" ::: "memory");
}
// 2^x and log2 x, off by 2 units of the last place at most; denormals are zeros.
__device__ __forceinline__ float exp2_fast(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
__device__ __forceinline__ float log2_fast(float x) {
  float y;
  asm("lg2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
// Hides where x comes from, so that no computation with it moves in front of this place: a compiler would make
// the 130 compares of a rare branch before each branch.
__device__ __forceinline__ void pin(int& x) { asm volatile("" : "+r"(x)); }
// multiply_onto() of matrix.cuh, onto zeros.
template <class T>
__device__ __forceinline__ void multiply_first(float (&z)[4], const uint32_t (&x)[4], uint32_t y0,
                                               uint32_t y1) {
  Packed<T>::multiply_first(z, x, y0, y1);
}

#endif

// The number of this warp in its block, in a register that a warp's lanes share.
__device__ __forceinline__ int warp_of_block() {
  return __shfl_sync(kAllLanes, static_cast<int>(threadIdx.x) / kWarp, 0);
}
__device__ __forceinline__ int smaller(int a, int b) { return a < b ? a : b; }
__device__ __forceinline__ int larger(int a, int b) { return a > b ? a : b; }

// Element e of a pair.
template <class T>
__device__ __forceinline__ float half_of(uint32_t pair, int e) {
  return wide(T{static_cast<uint16_t>(e == 0 ? pair : pair >> 16)});
}

template <int kTiles>
__device__ __forceinline__ void clear(float (&z)[kTiles][4]) {
  HONE_UNROLL
  for (int n = 0; n < kTiles; ++n)
    HONE_UNROLL
    for (int e = 0; e < 4; ++e) z[n][e] = 0;
}

}  // namespace hone::cuda
#endif
