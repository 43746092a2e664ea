// Converts f32 to bf16 and f16 and back, W elements at a time; the last ones one by one.
#include "engine/backends/cpu/isa/simd.h"
#include "engine/backends/cpu/kernels/narrow.h"

namespace hone::cpu::HONE_ISA {
namespace {

HONE_INLINE uint32_t bits_of(float x) {
  uint32_t bits;
  memcpy(&bits, &x, sizeof bits);
  return bits;
}
HONE_INLINE float float_of(uint32_t bits) {
  float x;
  memcpy(&x, &bits, sizeof x);
  return x;
}

struct Bf16 {
  static constexpr uint16_t kInfinity = 0x7f80;
  static HONE_INLINE uint16_t narrow(float x) {
    const uint32_t bits = bits_of(x);
    if (x != x) return static_cast<uint16_t>(bits >> 16 | 0x40);  // NaN stays NaN
    return static_cast<uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
  }
  static HONE_INLINE float widen(uint16_t h) { return float_of(static_cast<uint32_t>(h) << 16); }
#if defined(__AVX512F__)
  static HONE_INLINE void narrow_vector(const float* x, uint16_t* y) {
    const I bits = as_int(load(x));
    const I rounded = (bits + 0x7fff + ((bits >> 16) & 1)) >> 16;
    const I nan = (bits & 0x7fffffff) > 0x7f800000;
    const I narrowed = nan ? (bits >> 16 | 0x40) : rounded;
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(y),
                        _mm512_cvtepi32_epi16(reinterpret_cast<__m512i>(narrowed)));
  }
  static HONE_INLINE void widen_vector(const uint16_t* x, float* y) { store(y, load(x)); }
#endif
};

struct F16 {
  static constexpr uint16_t kInfinity = 0x7c00;
  static HONE_INLINE uint16_t narrow(float x) {
    const uint32_t all = bits_of(x), sign = all >> 16 & 0x8000, bits = all & 0x7fffffff;
    uint32_t half;
    if (bits > 0x7f800000)
      half = 0x7e00 | (bits >> 13 & 0x3ff);
    else if (bits >= 0x47800000)  // 65536 and more
      half = 0x7c00;
    else if (bits < 0x38800000)  // below 2^-14: adding 0.5 rounds to multiples of 2^-24
      half = bits_of(float_of(bits) + 0.5f) - 0x3f000000;
    else
      half = (bits - (112u << 23) + 0xfff + (bits >> 13 & 1)) >> 13;
    return static_cast<uint16_t>(sign | half);
  }
  static HONE_INLINE float widen(uint16_t h) {
    const uint32_t exponent = h & 0x7c00u, magnitude = static_cast<uint32_t>(h & 0x7fff) << 13;
    const uint32_t sign = static_cast<uint32_t>(h & 0x8000) << 16;
    uint32_t bits;
    if (exponent == 0x7c00)
      bits = magnitude + (224u << 23);
    else if (exponent == 0)
      bits = bits_of(float_of(magnitude + (113u << 23)) - float_of(113u << 23));
    else
      bits = magnitude + (112u << 23);
    return float_of(sign | bits);
  }
#if defined(__AVX512F__)
  static HONE_INLINE void narrow_vector(const float* x, uint16_t* y) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(y),
                        _mm512_cvtps_ph(load(x), _MM_FROUND_TO_NEAREST_INT));
  }
  static HONE_INLINE void widen_vector(const uint16_t* x, float* y) {
    store(y, _mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(x))));
  }
#elif defined(__AVX2__)
  static HONE_INLINE void narrow_vector(const float* x, uint16_t* y) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(y),
                     _mm256_cvtps_ph(load(x), _MM_FROUND_TO_NEAREST_INT));
  }
  static HONE_INLINE void widen_vector(const uint16_t* x, float* y) {
    store(y, _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(x))));
  }
#endif
};

#if defined(__AVX512F__)
template <class T>
constexpr bool kVectors = true;
#elif defined(__AVX2__)
template <class T>
constexpr bool kVectors = std::is_same_v<T, F16>;  // the compiler vectorizes Bf16's loop
#else
template <class T>
constexpr bool kVectors = false;
#endif

template <class T>
void narrow_some(const float* x, uint16_t* y, int64_t begin, int64_t end) {
  int64_t i = begin;
  if constexpr (kVectors<T>)
    for (; i + W <= end; i += W) T::narrow_vector(x + i, y + i);
  for (; i < end; ++i) y[i] = T::narrow(x[i]);
}
template <class T>
void narrow_all(int64_t count, const float* x, uint16_t* y, ThreadPool& pool) {
  parallel_items(pool, count, 1,
                 [&](int64_t begin, int64_t end, int) { narrow_some<T>(x, y, begin, end); });
}
// Rounds with saturation: finite numbers that were rounded to infinity become the largest finite number, whose bits are
// those of infinity minus 1. Works on blocks that stay in the cache.
template <class T>
void narrow_all_finite(int64_t count, const float* x, uint16_t* y, ThreadPool& pool) {
  constexpr int64_t kBlock = 2048;
  parallel_items(pool, count, 1, [&](int64_t begin, int64_t end, int) {
    for (int64_t from = begin; from < end; from += kBlock) {
      const int64_t to = from + kBlock < end ? from + kBlock : end;
      narrow_some<T>(x, y, from, to);
      for (int64_t i = from; i < to; ++i) {
        const bool finite = (bits_of(x[i]) & 0x7fffffff) < 0x7f800000;
        const bool rounded_up = (y[i] & 0x7fff) == T::kInfinity;
        y[i] = static_cast<uint16_t>(y[i] - static_cast<uint16_t>(finite & rounded_up));
      }
    }
  });
}
template <class T>
void widen_all(int64_t count, const uint16_t* x, float* y, ThreadPool& pool) {
  parallel_items(pool, count, 1, [&](int64_t begin, int64_t end, int) {
    int64_t i = begin;
    if constexpr (kVectors<T>)
      for (; i + W <= end; i += W) T::widen_vector(x + i, y + i);
    for (; i < end; ++i) y[i] = T::widen(x[i]);
  });
}

}  // namespace

void narrow(Half type, bool saturate, int64_t count, const float* x, uint16_t* y,
            ThreadPool& pool) {
  if (type == Half::bf16)
    (saturate ? narrow_all_finite<Bf16> : narrow_all<Bf16>)(count, x, y, pool);
  else
    (saturate ? narrow_all_finite<F16> : narrow_all<F16>)(count, x, y, pool);
}

void widen(Half type, int64_t count, const uint16_t* x, float* y, ThreadPool& pool) {
  if (type == Half::bf16)
    widen_all<Bf16>(count, x, y, pool);
  else
    widen_all<F16>(count, x, y, pool);
}

}  // namespace hone::cpu::HONE_ISA
