// Access to elements whose type is a run-time argument, and to the adjacent columns of a matrix that a thread has.
#pragma once

#include "engine/backends/cuda/kernels/kernel.cuh"

namespace hone::cuda {

// Element i of a tensor of this type: f32, bf16 or f16.
__device__ __forceinline__ float element_at(const void* from, Element type, int64_t i) {
  return type == Element::bf16  ? wide(static_cast<const bf16*>(from)[i])
         : type == Element::f16 ? wide(static_cast<const f16*>(from)[i])
                                : static_cast<const float*>(from)[i];
}
__device__ __forceinline__ void put_element(void* to, Element type, int64_t i, float x) {
  if (type == Element::bf16)
    static_cast<bf16*>(to)[i] = to_bf16(x);
  else if (type == Element::f16)
    static_cast<f16*>(to)[i] = to_f16(x);
  else
    static_cast<float*>(to)[i] = x;
}

// kSummedColumns adjacent columns from `first` on, of a matrix with `channels` columns. whole: all of them exist, and
// their addresses are aligned for packs.
struct ColumnPack {
  int64_t first, channels;
  bool whole;

  template <class T>
  __device__ __forceinline__ void get(float (&v)[kSummedColumns], const T* from) const {
    if (whole) {
      load<kSummedColumns>(v, from);
      return;
    }
    HONE_UNROLL
    for (int e = 0; e < kSummedColumns; ++e)
      v[e] = first + e < channels ? wide(from[e]) : 0.0f;
  }
  template <class T>
  __device__ __forceinline__ void put(T* to, const float (&v)[kSummedColumns]) const {
    if (whole) {
      store<kSummedColumns>(to, v);
      return;
    }
    HONE_UNROLL
    for (int e = 0; e < kSummedColumns; ++e)
      if (first + e < channels) to[e] = Narrow<T>::of(v[e]);
  }
  // get() and put() for a tensor of this type, in which element `at` is column `first`.
  __device__ __forceinline__ void get_from(float (&v)[kSummedColumns], const void* from,
                                           Element type, int64_t at) const {
    if (type == Element::f32)
      get(v, static_cast<const float*>(from) + at);
    else if (type == Element::bf16)
      get(v, static_cast<const bf16*>(from) + at);
    else
      get(v, static_cast<const f16*>(from) + at);
  }
  __device__ __forceinline__ void put_to(void* to, Element type, int64_t at,
                                         const float (&v)[kSummedColumns]) const {
    if (type == Element::f32)
      put(static_cast<float*>(to) + at, v);
    else if (type == Element::bf16)
      put(static_cast<bf16*>(to) + at, v);
    else
      put(static_cast<f16*>(to) + at, v);
  }
};

}  // namespace hone::cuda
