// The sums of resample_rows.h. For a row, a pixel takes four lanes, and AVX2 adds two pixels at a time. For a column,
// the sums of W bytes are computed at a time (W: f32 lanes of a vector, simd.h).
#include "engine/backends/cpu/isa/simd.h"
#include "learn/images/resample_rows.h"

namespace hone::cpu::HONE_ISA {
namespace {

constexpr int32_t kHalf = 1 << (kWeightBits - 1);

HONE_INLINE uint8_t rounded_byte(int32_t sum) {
  sum >>= kWeightBits;
  return static_cast<uint8_t>(sum < 0 ? 0 : sum > 255 ? 255 : sum);
}

#if defined(__AVX2__)
HONE_INLINE __m256i load_pixels(const uint8_t* p) {  // loads two pixels
  return _mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(p)));
}
HONE_INLINE void sum_pixel(const uint8_t* p, const int32_t* w, int32_t n, uint8_t* out) {
  __m256i two = _mm256_setzero_si256();
  int32_t k = 0;
  for (; k + 2 <= n; k += 2) {
    const __m256i weights =
        _mm256_inserti128_si256(_mm256_set1_epi32(w[k]), _mm_set1_epi32(w[k + 1]), 1);
    two = _mm256_add_epi32(two, _mm256_mullo_epi32(load_pixels(p + k * 4), weights));
  }
  __m128i sum = _mm_add_epi32(_mm256_castsi256_si128(two), _mm256_extracti128_si256(two, 1));
  if (k < n) {
    int32_t last;
    memcpy(&last, p + k * 4, sizeof last);
    const __m128i pixel = _mm_cvtepu8_epi32(_mm_cvtsi32_si128(last));
    sum = _mm_add_epi32(sum, _mm_mullo_epi32(pixel, _mm_set1_epi32(w[k])));
  }
  sum = _mm_srai_epi32(_mm_add_epi32(sum, _mm_set1_epi32(kHalf)), kWeightBits);
  sum = _mm_packus_epi16(_mm_packs_epi32(sum, sum), sum);
  const int32_t bytes = _mm_cvtsi128_si32(sum);
  memcpy(out, &bytes, sizeof bytes);
}
#else
HONE_INLINE void sum_pixel(const uint8_t* p, const int32_t* w, int32_t n, uint8_t* out) {
  int32_t a = kHalf, b = kHalf, c = kHalf;
  for (int32_t k = 0; k < n; ++k, p += 4) {
    a += p[0] * w[k];
    b += p[1] * w[k];
    c += p[2] * w[k];
  }
  out[0] = rounded_byte(a), out[1] = rounded_byte(b), out[2] = rounded_byte(c), out[3] = 0;
}
#endif

// The weighted sum of W bytes of `count` rows.
#if defined(__AVX512F__)
HONE_INLINE void sum_column(const uint8_t* in, int64_t stride, uint8_t* out, int64_t count,
                            const int32_t* w) {
  __m512i sum = _mm512_set1_epi32(kHalf);
  for (int64_t k = 0; k < count; ++k) {
    const __m512i x =
        _mm512_cvtepu8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(in + k * stride)));
    sum = _mm512_add_epi32(sum, _mm512_mullo_epi32(x, _mm512_set1_epi32(w[k])));
  }
  sum = _mm512_max_epi32(_mm512_srai_epi32(sum, kWeightBits), _mm512_setzero_si512());
  _mm_storeu_si128(reinterpret_cast<__m128i*>(out), _mm512_cvtusepi32_epi8(sum));
}
#elif defined(__AVX2__)
HONE_INLINE void sum_column(const uint8_t* in, int64_t stride, uint8_t* out, int64_t count,
                            const int32_t* w) {
  __m256i sum = _mm256_set1_epi32(kHalf);
  for (int64_t k = 0; k < count; ++k)
    sum = _mm256_add_epi32(
        sum, _mm256_mullo_epi32(load_pixels(in + k * stride), _mm256_set1_epi32(w[k])));
  sum = _mm256_srai_epi32(sum, kWeightBits);
  const __m128i words =
      _mm_packs_epi32(_mm256_castsi256_si128(sum), _mm256_extracti128_si256(sum, 1));
  _mm_storel_epi64(reinterpret_cast<__m128i*>(out), _mm_packus_epi16(words, words));
}
#else
HONE_INLINE void sum_column(const uint8_t* in, int64_t stride, uint8_t* out, int64_t count,
                            const int32_t* w) {
  int32_t sums[W];
  for (int i = 0; i < W; ++i) sums[i] = kHalf;
  for (int64_t k = 0; k < count; ++k)
    for (int i = 0; i < W; ++i) sums[i] += in[k * stride + i] * w[k];
  for (int i = 0; i < W; ++i) out[i] = rounded_byte(sums[i]);
}
#endif

}  // namespace

void resample_row(const uint8_t* in, uint8_t* out, int64_t outputs, const int32_t* first,
                  const int32_t* count, const int32_t* weights, int64_t most) {
  for (int64_t i = 0; i < outputs; ++i)
    sum_pixel(in + static_cast<int64_t>(first[i]) * 4, weights + i * most, count[i], out + i * 4);
}

void resample_column(const uint8_t* in, int64_t stride, uint8_t* out, int64_t bytes, int64_t count,
                     const int32_t* weights) {
  int64_t i = 0;
  for (; i + W <= bytes; i += W) sum_column(in + i, stride, out + i, count, weights);
  for (; i < bytes; ++i) {
    int32_t sum = kHalf;
    for (int64_t k = 0; k < count; ++k) sum += in[k * stride + i] * weights[k];
    out[i] = rounded_byte(sum);
  }
}

}  // namespace hone::cpu::HONE_ISA
