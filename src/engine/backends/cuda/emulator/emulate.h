// CUDA's keywords, built-in variables and functions for kernels that are compiled for the CPU. Only the sources of
// kernels include this header.
#pragma once

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <tuple>
#include <type_traits>
#include <utility>

#include "engine/backends/cuda/emulator/grid.h"

namespace hone::emulate {

// Every lane of the mask passes a value of 4 or 8 bytes, and gets the value that lane number `lane` passes. If lane
// number `lane` is not in the mask, the caller gets its own value.
template <class T>
T shuffle(unsigned mask, T value, unsigned lane) {
  static_assert(sizeof(T) == 4 || sizeof(T) == 8);
  if constexpr (sizeof(T) == 4)
    return std::bit_cast<T>(
        static_cast<uint32_t>(exchange(mask, std::bit_cast<uint32_t>(value), lane)));
  else
    return std::bit_cast<T>(exchange(mask, std::bit_cast<uint64_t>(value), lane));
}

// Combines the values of all 32 lanes of a warp with f(int, int), in the order of the lanes. All lanes get the result.
template <class F>
int reduce(int value, F f) {
  together(&value, [f](void* const* lanes) {
    int all = *static_cast<int*>(lanes[0]);
    for (int lane = 1; lane < 32; ++lane) all = f(all, *static_cast<int*>(lanes[lane]));
    for (int lane = 0; lane < 32; ++lane) *static_cast<int*>(lanes[lane]) = all;
  });
  return value;
}

// Calls a kernel with arguments in the form of cuLaunchKernel: an array with the address of each argument.
template <class... Args, size_t... I>
void call(void (*kernel)(Args...), void** arguments, std::index_sequence<I...>) {
  kernel(*static_cast<std::remove_cv_t<std::remove_reference_t<Args>>*>(arguments[I])...);
}
template <auto kernel>
void run(void** arguments) {
  []<class... Args>(void (*f)(Args...), void** a) {
    call(f, a, std::index_sequence_for<Args...>{});
  }(kernel, arguments);
}

// The size of each argument of a kernel, in bytes.
template <class... Args>
inline constexpr std::array<size_t, sizeof...(Args)> kBytes = {
    sizeof(std::remove_cvref_t<Args>)...};
template <class... Args>
std::span<const size_t> bytes_of(void (*)(Args...)) {
  return kBytes<Args...>;
}
// Registers a kernel under its name; a second kernel of the same name is a bug.
template <auto kernel>
bool add(const char* name) {
  return add_function({name, &run<kernel>, bytes_of(kernel)});
}

}  // namespace hone::emulate

#define __global__
#define __device__
#define __host__
#define __forceinline__ inline
#define __restrict__ __restrict
#define __launch_bounds__(...)
#define __shared__ static thread_local
#define __grid_constant__
#define threadIdx (::hone::emulate::here().thread)
#define blockIdx (::hone::emulate::here().block)
#define blockDim (::hone::emulate::here().block_dim)
#define gridDim (::hone::emulate::here().grid_dim)
#define __syncthreads ::hone::emulate::sync_threads
#define __syncwarp ::hone::emulate::sync_warp

// NOLINTBEGIN: CUDA's names
template <class T>
T __shfl_sync(unsigned mask, T value, int lane) {
  return hone::emulate::shuffle(mask, value, static_cast<unsigned>(lane) & 31u);
}
template <class T>
T __shfl_xor_sync(unsigned mask, T value, int lanes) {
  return hone::emulate::shuffle(mask, value,
                                hone::emulate::lane_of_here() ^ static_cast<unsigned>(lanes));
}
template <class T>
T __shfl_down_sync(unsigned mask, T value, unsigned lanes) {
  const unsigned lane = hone::emulate::lane_of_here();
  return hone::emulate::shuffle(mask, value, lane + lanes < 32 ? lane + lanes : lane);
}
template <class T>
T __shfl_up_sync(unsigned mask, T value, unsigned lanes) {
  const unsigned lane = hone::emulate::lane_of_here();
  return hone::emulate::shuffle(mask, value, lane >= lanes ? lane - lanes : lane);
}
inline unsigned __ballot_sync(unsigned mask, bool value) {
  return hone::emulate::ballot(mask, value);
}
inline int __reduce_add_sync(unsigned, int value) {
  return hone::emulate::reduce(value, [](int a, int b) { return a + b; });
}
inline int __reduce_max_sync(unsigned, int value) {
  return hone::emulate::reduce(value, [](int a, int b) { return a > b ? a : b; });
}
inline int __any_sync(unsigned mask, bool value) { return hone::emulate::ballot(mask, value) != 0; }
// Plain reads and writes are atomic here: one thread runs at a time, until it waits for others or ends.
template <class T>
T atomicAdd(T* at, T value) {
  return std::exchange(*at, *at + value);
}
template <class T>
T atomicMax(T* at, T value) {
  return std::exchange(*at, *at < value ? value : *at);
}
inline int __popc(unsigned x) { return std::popcount(x); }
inline int __ffs(int x) { return x == 0 ? 0 : std::countr_zero(static_cast<unsigned>(x)) + 1; }
inline unsigned __float_as_uint(float x) { return std::bit_cast<unsigned>(x); }
inline float __uint_as_float(unsigned x) { return std::bit_cast<float>(x); }
// Single operations: the compiler must not fuse a product and a sum into a multiply-add.
inline float __fmul_rn(float x, float y) { return x * y; }
inline float __fadd_rn(float x, float y) { return x + y; }
inline float __fsub_rn(float x, float y) { return x - y; }
// NOLINTEND
