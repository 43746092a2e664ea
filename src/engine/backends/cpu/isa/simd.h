// Vectors of W floats for the kernel files x.simd.h. The files are compiled once per instruction set:
// HONE_ISA is the name of the namespace (baseline, avx2, avx512), and the compiler's flags decide W.
//
// The linker must not merge functions that were compiled for different instruction sets. So all
// functions of this file and of kernel files are in namespace hone::cpu::HONE_ISA, and inline
// functions of std:: are not called.
#pragma once

#include <stdint.h>
#include <string.h>

#include <type_traits>
#include <utility>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "base/core/threads.h"
#include "engine/backends/cpu/isa/element.h"

#define HONE_INLINE inline __attribute__((always_inline))

namespace hone::cpu::HONE_ISA {

#if defined(__AVX512F__)
constexpr int W = 16;
#elif defined(__AVX2__)
constexpr int W = 8;
#else
constexpr int W = 4;
#endif

// The third argument of __builtin_prefetch() for data that streams from memory: it fetches into the L2
// cache. The L1 cache can wait for only a few lines at a time, so prefetches into it reach at most half of the
// memory's speed.
constexpr int kToL2 = 2;

typedef float F __attribute__((vector_size(4 * W)));
typedef int32_t I __attribute__((vector_size(4 * W)));  // also the result of comparisons: -1 / 0
typedef uint32_t U __attribute__((vector_size(4 * W)));
typedef double D __attribute__((vector_size(4 * W)));  // W / 2 lanes
typedef float FUnaligned __attribute__((vector_size(4 * W), aligned(4), may_alias));
typedef int32_t IUnaligned __attribute__((vector_size(4 * W), aligned(4), may_alias));

// Calls f(i) for i = 0 to N - 1, as std::integral_constant<int, i>; the loop is unrolled at compile time.
template <class Fn, int... K>
HONE_INLINE void unroll_impl(Fn&& f, std::integer_sequence<int, K...>) {
  (f(std::integral_constant<int, K>{}), ...);
}
template <int N, class Fn>
HONE_INLINE void unroll(Fn&& f) {
  unroll_impl(static_cast<Fn&&>(f), std::make_integer_sequence<int, N>{});
}
#define HONE_LAMBDA(i) [&](auto i) __attribute__((always_inline))

template <class T>
HONE_INLINE T min_of(T a, T b) {
  return b < a ? b : a;
}
template <class T>
HONE_INLINE T max_of(T a, T b) {
  return a < b ? b : a;
}

HONE_INLINE F load(const float* p) { return *reinterpret_cast<const FUnaligned*>(p); }
HONE_INLINE I load(const int32_t* p) { return *reinterpret_cast<const IUnaligned*>(p); }
HONE_INLINE void store(float* p, F v) { *reinterpret_cast<FUnaligned*>(p) = v; }
HONE_INLINE void store(int32_t* p, I v) { *reinterpret_cast<IUnaligned*>(p) = v; }

HONE_INLINE I lane_index() {
  I i{};
  for (int l = 0; l < W; ++l) i[l] = l;
  return i;
}
HONE_INLINE I set1(int32_t x) { return I{} + x; }
HONE_INLINE U set1(uint32_t x) { return U{} + x; }
HONE_INLINE F as_float(I v) { return reinterpret_cast<F>(v); }
HONE_INLINE I as_int(F v) { return reinterpret_cast<I>(v); }
HONE_INLINE F select(I mask, F a, F b) { return mask ? a : b; }
HONE_INLINE F zero() { return F{}; }

#if defined(__AVX512F__)
HONE_INLINE F set1(float x) { return _mm512_set1_ps(x); }
HONE_INLINE F fma(F a, F b, F c) { return _mm512_fmadd_ps(a, b, c); }
HONE_INLINE F fnma(F a, F b, F c) { return _mm512_fnmadd_ps(a, b, c); }  // c - a * b
HONE_INLINE F max(F a, F b) { return _mm512_max_ps(a, b); }
HONE_INLINE F min(F a, F b) { return _mm512_min_ps(a, b); }
HONE_INLINE F sqrt(F a) { return _mm512_sqrt_ps(a); }
HONE_INLINE F round(F a) { return _mm512_roundscale_ps(a, 8); }
HONE_INLINE I to_int(F a) { return reinterpret_cast<I>(_mm512_cvtps_epi32(a)); }
HONE_INLINE F to_float(I a) { return _mm512_cvtepi32_ps(reinterpret_cast<__m512i>(a)); }
// Loads the first n >= 0 lanes; memory after them is not read, and the other lanes are 0.
HONE_INLINE F load_n(const float* p, int64_t n) {
  return _mm512_maskz_loadu_ps(n >= W ? 0xffff : (1u << n) - 1, p);
}
// Stores the first n lanes.
HONE_INLINE void store_n(float* p, F v, int64_t n) {
  _mm512_mask_storeu_ps(p, n >= W ? 0xffff : (1u << n) - 1, v);
}
HONE_INLINE float reduce_add(F v) {
  const __m256 h = _mm256_add_ps(_mm512_castps512_ps256(v), _mm512_extractf32x8_ps(v, 1));
  const __m128 q = _mm_add_ps(_mm256_castps256_ps128(h), _mm256_extractf128_ps(h, 1));
  const __m128 d = _mm_add_ps(q, _mm_movehl_ps(q, q));
  return _mm_cvtss_f32(_mm_add_ss(d, _mm_shuffle_ps(d, d, 1)));
}
HONE_INLINE float reduce_max(F v) { return _mm512_reduce_max_ps(v); }
HONE_INLINE F scale_by_power(F p, F n) { return _mm512_scalef_ps(p, n); }  // p * 2^n, n: an integer
// The 64-bit products a * b: hi has their high 32 bits, lo their low ones.
HONE_INLINE void mul_wide(U a, uint32_t b, U& hi, U& lo) {
  const __m512i x = reinterpret_cast<__m512i>(a), y = _mm512_set1_epi32(static_cast<int>(b));
  const __m512i even = _mm512_mul_epu32(x, y);
  const __m512i odd = _mm512_mul_epu32(_mm512_srli_epi64(x, 32), y);
  hi = reinterpret_cast<U>(_mm512_mask_mov_epi32(_mm512_srli_epi64(even, 32), 0xaaaa, odd));
  lo = reinterpret_cast<U>(_mm512_mask_mov_epi32(even, 0xaaaa, _mm512_slli_epi64(odd, 32)));
}
#elif defined(__AVX2__)
HONE_INLINE F set1(float x) { return _mm256_set1_ps(x); }
HONE_INLINE F fma(F a, F b, F c) { return _mm256_fmadd_ps(a, b, c); }
HONE_INLINE F fnma(F a, F b, F c) { return _mm256_fnmadd_ps(a, b, c); }
HONE_INLINE F max(F a, F b) { return _mm256_max_ps(a, b); }
HONE_INLINE F min(F a, F b) { return _mm256_min_ps(a, b); }
HONE_INLINE F sqrt(F a) { return _mm256_sqrt_ps(a); }
HONE_INLINE F round(F a) { return _mm256_round_ps(a, 8); }
HONE_INLINE I to_int(F a) { return reinterpret_cast<I>(_mm256_cvtps_epi32(a)); }
HONE_INLINE F to_float(I a) { return _mm256_cvtepi32_ps(reinterpret_cast<__m256i>(a)); }
HONE_INLINE __m256i first_lanes(int64_t n) {
  const int count = n >= W ? W : static_cast<int>(n);
  return _mm256_cmpgt_epi32(_mm256_set1_epi32(count), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}
HONE_INLINE F load_n(const float* p, int64_t n) { return _mm256_maskload_ps(p, first_lanes(n)); }
HONE_INLINE void store_n(float* p, F v, int64_t n) { _mm256_maskstore_ps(p, first_lanes(n), v); }
HONE_INLINE float reduce_add(F v) {
  const __m128 q = _mm_add_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
  const __m128 d = _mm_add_ps(q, _mm_movehl_ps(q, q));
  return _mm_cvtss_f32(_mm_add_ss(d, _mm_shuffle_ps(d, d, 1)));
}
HONE_INLINE float reduce_max(F v) {
  const __m128 q = _mm_max_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
  const __m128 d = _mm_max_ps(q, _mm_movehl_ps(q, q));
  return _mm_cvtss_f32(_mm_max_ss(d, _mm_shuffle_ps(d, d, 1)));
}
HONE_INLINE void mul_wide(U a, uint32_t b, U& hi, U& lo) {
  const __m256i x = reinterpret_cast<__m256i>(a), y = _mm256_set1_epi32(static_cast<int>(b));
  const __m256i even = _mm256_mul_epu32(x, y);
  const __m256i odd = _mm256_mul_epu32(_mm256_srli_epi64(x, 32), y);
  hi = reinterpret_cast<U>(_mm256_blend_epi32(_mm256_srli_epi64(even, 32), odd, 0xaa));
  lo = reinterpret_cast<U>(_mm256_blend_epi32(even, _mm256_slli_epi64(odd, 32), 0xaa));
}
#else
HONE_INLINE F set1(float x) { return F{x, x, x, x}; }
HONE_INLINE F fma(F a, F b, F c) { return a * b + c; }
HONE_INLINE F fnma(F a, F b, F c) { return c - a * b; }
HONE_INLINE F max(F a, F b) { return a > b ? a : b; }
HONE_INLINE F min(F a, F b) { return a < b ? a : b; }
HONE_INLINE F sqrt(F a) {
  for (int l = 0; l < W; ++l) a[l] = __builtin_sqrtf(a[l]);
  return a;
}
HONE_INLINE I to_int(F a) {  // rounds to the nearest integer; |a| < 2^22
  const F magic = set1(12582912.0f);
  return as_int(a + magic) - as_int(magic);
}
HONE_INLINE F to_float(I a) { return __builtin_convertvector(a, F); }
HONE_INLINE F round(F a) { return to_float(to_int(a)); }
HONE_INLINE F load_n(const float* p, int64_t n) {
  F v{};
  for (int l = 0; l < W; ++l)
    if (l < n) v[l] = p[l];
  return v;
}
HONE_INLINE void store_n(float* p, F v, int64_t n) {
  for (int l = 0; l < W; ++l)
    if (l < n) p[l] = v[l];
}
HONE_INLINE float reduce_add(F v) { return (v[0] + v[2]) + (v[1] + v[3]); }
HONE_INLINE float reduce_max(F v) {
  const float a = v[0] < v[2] ? v[2] : v[0], b = v[1] < v[3] ? v[3] : v[1];
  return a < b ? b : a;
}
HONE_INLINE void mul_wide(U a, uint32_t b, U& hi, U& lo) {
  for (int l = 0; l < W; ++l) {
    const uint64_t p = uint64_t{a[l]} * b;
    hi[l] = static_cast<uint32_t>(p >> 32);
    lo[l] = static_cast<uint32_t>(p);
  }
}
#endif

// Loads W narrow elements and converts them to floats. A uint16_t holds the bits of a bf16.
HONE_INLINE F load(const uint16_t* p) {
#if defined(__AVX512F__)
  const __m256i v = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
  return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(v), 16));
#elif defined(__AVX2__)
  const __m128i v = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
  return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(v), 16));
#else
  U v{};
  for (int l = 0; l < W; ++l) v[l] = static_cast<uint32_t>(p[l]) << 16;
  return reinterpret_cast<F>(v);
#endif
}
HONE_INLINE F load(const Float16* p) {
#if defined(__AVX512F__)
  return _mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)));
#elif defined(__AVX2__)
  return _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
#else
  U v{};
  for (int l = 0; l < W; ++l) {
    const uint32_t h = p[l].bits, exponent = h & 0x7c00, shifted = (h & 0x7fff) << 13;
    uint32_t bits = shifted + (112u << 23);
    if (exponent == 0x7c00) bits = shifted + (224u << 23);
    if (exponent == 0) {  // zero or subnormal: a multiple of 2^-24
      const float x = static_cast<float>(h & 0x3ff) * 0x1p-24f;
      memcpy(&bits, &x, sizeof bits);
    }
    v[l] = bits | (h & 0x8000) << 16;
  }
  return reinterpret_cast<F>(v);
#endif
}
HONE_INLINE F load(const int8_t* p) {
#if defined(__AVX512F__)
  const __m128i v = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
  return _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(v));
#elif defined(__AVX2__)
  const __m128i v = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(p));
  return _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(v));
#else
  F v{};
  for (int l = 0; l < W; ++l) v[l] = static_cast<float>(p[l]);
  return v;
#endif
}
template <class T>
HONE_INLINE F load_n(const T* p, int64_t n) {
  T part[W] = {};
  if (n > 0) memcpy(part, p, min_of<int64_t>(n, W) * sizeof(T));
  return load(part);
}

// Rounds to the nearest number of f16, ties to even; the result is f32. Values that are too large become inf.
HONE_INLINE F round_to_f16(F x) {
#if defined(__AVX512F__)
  return _mm512_cvtph_ps(_mm512_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT));
#elif defined(__AVX2__)
  return _mm256_cvtph_ps(_mm256_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT));
#else
  const I bits = as_int(x), sign = bits & static_cast<int32_t>(0x80000000);
  const I size = bits & 0x7fffffff;
  I rounded = (size + 0xfff + ((size >> 13) & 1)) & ~0x1fff;
  // Below 2^-14, numbers of f16 are multiples of 2^-24. Adding 0.5 rounds to such a multiple.
  const I small = as_int((as_float(size) + 0.5f) - 0.5f);
  rounded = size < 0x38800000 ? small : rounded;
  rounded = rounded >= 0x47800000 ? I{} + 0x7f800000 : rounded;
  rounded = size > 0x7f800000 ? size : rounded;  // NaN
  return as_float(rounded | sign);
#endif
}

#if !defined(__AVX512F__)
HONE_INLINE F scale_by_power(F p, F n) {  // p * 2^n in two steps, so that n = 128 and -149 work
  const I whole = to_int(n), half = whole >> 1;
  return p * as_float((half + 127) << 23) * as_float((whole - half + 127) << 23);
}
#endif

// Transposes the W x W matrix whose rows are r[0] to r[W - 1], in place.
HONE_INLINE void transpose_registers(F* r) {
  // log2(W) rounds of perfect shuffles: each round interleaves row i with row i + W/2.
  F t[W];
  for (int round = 1; round < W; round *= 2) {
    unroll<W / 2>(HONE_LAMBDA(i) {
#if defined(__AVX512F__)
      const __m512i lo = _mm512_setr_epi32(0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
      const __m512i hi =
          _mm512_setr_epi32(8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31);
      t[2 * i] = _mm512_permutex2var_ps(r[i], lo, r[i + W / 2]);
      t[2 * i + 1] = _mm512_permutex2var_ps(r[i], hi, r[i + W / 2]);
#elif defined(__AVX2__)
      const F a = _mm256_unpacklo_ps(r[i], r[i + W / 2]), b = _mm256_unpackhi_ps(r[i], r[i + W / 2]);
      t[2 * i] = _mm256_permute2f128_ps(a, b, 0x20);
      t[2 * i + 1] = _mm256_permute2f128_ps(a, b, 0x31);
#else
      const F a = r[i], b = r[i + W / 2];
      t[2 * i] = F{a[0], b[0], a[1], b[1]};
      t[2 * i + 1] = F{a[2], b[2], a[3], b[3]};
#endif
    });
    unroll<W>(HONE_LAMBDA(i) { r[i] = t[i]; });
  }
}

// e^x with a relative error below 2e-7. The result is 0 below -87.33, where it would be subnormal, and inf above 88.73.
HONE_INLINE F exp(F x) {
  x = max(min(x, set1(89.0f)), set1(-104.0f));
  const F n = round(x * set1(1.44269504088896341f));
  F r = fnma(n, set1(0.693359375f), x);
  r = fnma(n, set1(-2.12194440e-4f), r);
  F p = set1(1.9875691500e-4f);
  p = fma(p, r, set1(1.3981999507e-3f));
  p = fma(p, r, set1(8.3334519073e-3f));
  p = fma(p, r, set1(4.1665795894e-2f));
  p = fma(p, r, set1(1.6666665459e-1f));
  p = fma(p, r, set1(5.0000001201e-1f));
  p = fma(p, r * r, r) + set1(1.0f);
  return select(x < set1(-87.33f), zero(), scale_by_power(p, n));
}

// Calls f(begin, end, thread) for parts of `count` items of `elements` floats each: on all threads of the
// pool, or on the calling thread alone if there are at most 16,384 floats (waking threads would take longer).
template <class Fn>
HONE_INLINE void parallel_items(ThreadPool& pool, int64_t count, int64_t elements, Fn&& f) {
  if (count * elements > 16384)
    pool.parallel_for(count, f);
  else if (count > 0)
    f(0, count, 0);
}

// get() loads and put() stores a vector. If Whole::value is true, it loads or stores all W lanes, else the first n.
template <class T, class Whole>
HONE_INLINE F get(const T* p, Whole, int64_t n) {
  if constexpr (Whole::value)
    return load(p);
  else
    return load_n(p, n);
}
// Loads the vector at element i of an array of type f32, bf16 or f16.
template <class Whole>
HONE_INLINE F get(const void* p, Element type, int64_t i, Whole whole, int64_t n) {
  if (type == Element::bf16) return get(static_cast<const uint16_t*>(p) + i, whole, n);
  if (type == Element::f16) return get(static_cast<const Float16*>(p) + i, whole, n);
  return get(static_cast<const float*>(p) + i, whole, n);
}
template <class Whole>
HONE_INLINE void put(float* p, F v, Whole, int64_t n) {
  if constexpr (Whole::value)
    store(p, v);
  else
    store_n(p, v, n);
}
// Calls f(i, whole, n) for the vectors of elements [begin, end): the vector at i has n elements; whole: n is W.
template <class Fn>
HONE_INLINE void for_vectors(int64_t begin, int64_t end, Fn&& f) {
  int64_t i = begin;
  for (; i + W <= end; i += W) f(i, std::true_type{}, int64_t{W});
  if (i < end) f(i, std::false_type{}, end - i);
}
#define HONE_VECTOR [&](int64_t i, auto whole, int64_t n) __attribute__((always_inline))

}  // namespace hone::cpu::HONE_ISA
