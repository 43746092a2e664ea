// The columns of a matrix that a thread has beside each other.
#pragma once

#include "engine/backends/cuda/kernels/kernel.cuh"

namespace hone::cuda {

// kSummedColumns columns from `first` on. whole: all are there, at addresses of packs.
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
};

}  // namespace hone::cuda
