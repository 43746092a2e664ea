// Quantizes and dequantizes bitsandbytes' 8-bit and torchao's 4-bit numbers, and dequantizes weights
// (engine/ops/block_schemes.h, docs/formats/gguf.md).
#pragma once

#include "engine/backends/cuda/kernels/kernel.cuh"

namespace hone::cuda {

// The largest magnitude of a block of 256 elements. Each of 256 threads has one element.
__device__ __forceinline__ float largest_of_block(float x) {
  return reduce_block(fabsf(x), [](float a, float b) { return b > a ? b : a; });
}

// Threads of a warp read other places of a map at once, which constant memory gives one by one. The
// caller's next barrier comes before the first of them.
__device__ __forceinline__ void share_map(Map& shared, const Map& map) {
  for (int i = static_cast<int>(threadIdx.x); i < 256; i += kBlock) shared.of[i] = map.of[i];
}

// bitsandbytes' code of x in a block whose largest magnitude is `most`: the nearest of the map's numbers,
// the even one of two that are equally near.
__device__ __forceinline__ uint8_t code_of(float x, float most, const Map& map) {
  if (!(most > 0)) return 0;
  const float ratio = x / most;
  int low = 0, high = 255;  // the last number that is not larger, and the first that is
  while (low + 1 < high) {
    const int middle = (low + high) / 2;
    if (map.of[middle] <= ratio)
      low = middle;
    else
      high = middle;
  }
  const double below = fabs(static_cast<double>(ratio) - map.of[low]),
               above = fabs(static_cast<double>(ratio) - map.of[high]);
  int best = above < below || (above == below && high % 2 == 0) ? high : low;
  if (map.of[best] == 0 && __float_as_uint(x) >> 31 != 0) --best;
  return static_cast<uint8_t>(best);
}

// torchao's code of 4 bits: the number of bounds that are not larger.
__device__ __forceinline__ int code_of(float ratio, const FourBits& map) {
  int code = 0;
  HONE_UNROLL
  for (int k = 0; k < 15; ++k) code += ratio >= map.above[k] ? 1 : 0;
  return code;
}

HONE_KERNEL(quantize_dynamic_f32, const float* x, uint8_t* codes, float* absmax, int64_t n,
            const __grid_constant__ Map given) {
  __shared__ Map map;
  share_map(map, given);
  const int64_t i = static_cast<int64_t>(blockIdx.x) * kBlock + threadIdx.x;
  const float value = i < n ? x[i] : 0.0f;
  const float most = largest_of_block(value);
  if (threadIdx.x == 0) absmax[blockIdx.x] = most;
  if (i < n) codes[i] = code_of(value, most, map);
}

template <class T>
__device__ void widen_codes(const uint8_t* codes, const float* absmax, T* out, int64_t n,
                            const Map& given) {
  __shared__ Map map;
  share_map(map, given);
  __syncthreads();
  for (int64_t i = first_of_all(); i < n; i += all_threads())
    out[i] = Narrow<T>::of(map.of[codes[i]] * absmax[i / 256]);
}
HONE_KERNEL(dequantize_dynamic_f32, const uint8_t* codes, const float* absmax, float* out,
            int64_t n, const __grid_constant__ Map map) {
  widen_codes(codes, absmax, out, n, map);
}
HONE_KERNEL(dequantize_dynamic_bf16, const uint8_t* codes, const float* absmax, bf16* out,
            int64_t n, const __grid_constant__ Map map) {
  widen_codes(codes, absmax, out, n, map);
}

// Schemes of 4 bits with scales beside them, in f32 or in the codes of the map.
template <class T>
__device__ void widen_scaled(const uint8_t* payload, const float* scales, const uint8_t* codes_of_scales,
                             const float* nested, const float* offset, T* out, Scaled s,
                             const Codes& of_scheme, const Map& given) {
  __shared__ Map map;
  __shared__ Codes codes;
  if (codes_of_scales != nullptr) share_map(map, given);
  if (threadIdx.x < 16) codes.of[threadIdx.x] = of_scheme.of[threadIdx.x];
  __syncthreads();
  for (int64_t i = first_of_all(); i < s.n; i += all_threads()) {
    const int64_t group = s.scaled == 0 ? i / s.columns : i / s.scaled;
    const float scale =
        codes_of_scales == nullptr
            ? scales[group]
            : map.of[codes_of_scales[group]] * nested[group / 256] + offset[0];
    if (s.scaled == 0) {
      out[i] = Narrow<T>::of(static_cast<int8_t>(payload[i]) * scale / 127.0f);
      continue;
    }
    const uint8_t both = payload[i / 2];
    out[i] = Narrow<T>::of(codes.of[i % 2 == 0 ? both >> 4 : both & 15] * scale);
  }
}

// The formats of GGUF, in the order of `Format`.
enum Format { q8_0, q4_0, q4_1, q5_0, q5_1, q2_k, q3_k, q4_k, q5_k, q6_k, in_f16, in_bf16, mxfp4 };

__device__ __forceinline__ float half_at(const uint8_t* p) {
  return wide(f16{static_cast<uint16_t>(p[0] | p[1] << 8)});
}
__device__ __forceinline__ int six_bits(const uint8_t* p, int group, bool minimum) {
  const int j = group % 4 + (minimum ? 4 : 0);
  if (group < 4) return p[j] & 63;
  return (p[group % 4 + 8] >> (minimum ? 4 : 0) & 15) | p[j] >> 6 << 4;
}

// Element i of the block at b, dequantized.
__device__ float element_of(int format, const uint8_t* b, int i) {
  const auto low_then_high = [&](int at) { return b[at + i % 16] >> (i < 16 ? 0 : 4) & 15; };
  const auto fifth = [&](int at) { return (b[at + i / 8] >> i % 8 & 1) << 4; };
  const auto two_bits = [&](int at) {
    return b[at + i / 128 * 32 + i % 32] >> 2 * (i % 128 / 32) & 3;
  };
  const auto nibble = [&](int at) { return b[at + i / 64 * 32 + i % 32] >> (i / 32 % 2 * 4) & 15; };
  const int group = i / 32;
  switch (format) {
    case in_f16:
      return half_at(b);
    case in_bf16:
      return wide(bf16{static_cast<uint16_t>(b[0] | b[1] << 8)});
    case mxfp4: {
      const int code = low_then_high(1), m = code & 7;
      const float twice = static_cast<float>(m < 5 ? m : m < 7 ? 2 * m - 4 : 12);
      const float scale = wide(bf16{static_cast<uint16_t>(b[0] == 0 ? 64 : b[0] << 7)});
      return (code > 7 ? -0.5f : 0.5f) * twice * scale;
    }
    case q8_0:
      return half_at(b) * static_cast<int8_t>(b[2 + i]);
    case q4_0:
      return half_at(b) * (low_then_high(2) - 8);
    case q4_1:
      return half_at(b) * low_then_high(4) + half_at(b + 2);
    case q5_0:
      return half_at(b) * ((low_then_high(6) | fifth(2)) - 16);
    case q5_1:
      return half_at(b) * (low_then_high(8) | fifth(4)) + half_at(b + 2);
    case q2_k:
      return half_at(b + 80) * (b[i / 16] & 15) * two_bits(16) - half_at(b + 82) * (b[i / 16] >> 4);
    case q3_k: {
      const int g = i / 16;
      const int scale = (b[96 + g % 8] >> (g < 8 ? 0 : 4) & 15) |
                        (b[104 + g % 4] >> 2 * (g / 4) & 3) << 4;
      return half_at(b + 108) * (scale - 32) *
             (two_bits(32) - ((b[i % 32] >> i / 32 & 1) != 0 ? 0 : 4));
    }
    case q4_k:
      return half_at(b) * six_bits(b + 4, group, false) * nibble(16) -
             half_at(b + 2) * six_bits(b + 4, group, true);
    case q5_k:
      return half_at(b) * six_bits(b + 4, group, false) *
                 (nibble(48) | (b[16 + i % 32] >> i / 32 & 1) << 4) -
             half_at(b + 2) * six_bits(b + 4, group, true);
    default: {
      const int low = b[i / 128 * 64 + i % 64] >> (i % 128 / 64 * 4) & 15;
      const int high = b[128 + i / 128 * 32 + i % 32] >> 2 * (i % 128 / 32) & 3;
      return half_at(b + 208) * static_cast<int8_t>(b[192 + i / 16]) * ((low | high << 4) - 32);
    }
  }
}
template <class T>
__device__ void widen_blocks(const uint8_t* payload, T* out, int64_t n, int format, int block,
                             int bytes) {
  for (int64_t i = first_of_all(); i < n; i += all_threads())
    out[i] = Narrow<T>::of(
        element_of(format, payload + i / block * bytes, static_cast<int>(i % block)));
}

#define HONE_DEQUANTIZE(name, T)                                                                   \
  HONE_KERNEL(dequantize_##name, const uint8_t* payload, const float* scales,                      \
              const uint8_t* codes_of_scales, const float* nested, const float* offset, T* out,    \
              Scaled s, const __grid_constant__ Codes codes,                                       \
              const __grid_constant__ Map map) {                                                   \
    widen_scaled(payload, scales, codes_of_scales, nested, offset, out, s, codes, map);            \
  }                                                                                                \
  HONE_KERNEL(dequantize_blocks_##name, const uint8_t* payload, T* out, int64_t n, int format,     \
              int block, int bytes) {                                                              \
    widen_blocks(payload, out, n, format, block, bytes);                                           \
  }
HONE_DEQUANTIZE(f32, float)
HONE_DEQUANTIZE(bf16, bf16)

}  // namespace hone::cuda
