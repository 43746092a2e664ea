// The optimizers that update each element by itself: each function updates a range of one tensor.
#include "engine/backends/cpu/isa/simd.h"
#include "engine/backends/cpu/kernels/optimizer.h"
#include "engine/backends/cpu/kernels/optimizer_kernels.h"
#include "engine/backends/cpu/kernels/optimizer_steps.simd.h"

namespace hone::cpu::HONE_ISA {

void adamw_range(const UpdateTensor& t, const AdamWScalars& s, int64_t begin, int64_t end) {
  float *const ms = t.state[0], *const vs = t.state[1];
  for_vectors(
      begin, end, HONE_VECTOR {
        F p = get(t.p + i, whole, n), m = get(ms + i, whole, n), v = get(vs + i, whole, n);
        adamw_step(s, get(t.g.data, t.g.type, i, whole, n), p, m, v);
        put(ms + i, m, whole, n);
        put(vs + i, v, whole, n);
        put(t.p + i, p, whole, n);
      });
}

void sgd_range(const UpdateTensor& t, const SgdScalars& s, int64_t begin, int64_t end) {
  float* const buffers = t.state[0];
  for_vectors(
      begin, end, HONE_VECTOR {
        const F p = get(t.p + i, whole, n);
        F g = fma(set1(s.l2), p, get(t.g.data, t.g.type, i, whole, n) * set1(s.gradient_scale));
        if (buffers) {
          const F buffer = fma(set1(s.momentum), get(buffers + i, whole, n), g * set1(s.fresh));
          put(buffers + i, buffer, whole, n);
          g = s.nesterov != 0 ? fma(set1(s.momentum), buffer, g) : buffer;
        }
        put(t.p + i, fnma(set1(s.lr), g, p), whole, n);
      });
}

void adagrad_range(const UpdateTensor& t, const AdagradScalars& s, int64_t begin, int64_t end) {
  float* const sums = t.state[0];
  for_vectors(
      begin, end, HONE_VECTOR {
        const F p = get(t.p + i, whole, n);
        const F g =
            fma(set1(s.l2), p, get(t.g.data, t.g.type, i, whole, n) * set1(s.gradient_scale));
        const F sum = fma(g, g, get(sums + i, whole, n));
        put(sums + i, sum, whole, n);
        put(t.p + i, fnma(set1(s.rate), g / (sqrt(sum) + set1(s.eps)), p), whole, n);
      });
}

void rmsprop_range(const UpdateTensor& t, const RmspropScalars& s, int64_t begin, int64_t end) {
  float *const squares = t.state[0], *const means = t.state[1];
  float* const buffers = s.has_buffer ? t.state[s.centered ? 2 : 1] : nullptr;
  for_vectors(
      begin, end, HONE_VECTOR {
        const F p = get(t.p + i, whole, n);
        const F g =
            fma(set1(s.l2), p, get(t.g.data, t.g.type, i, whole, n) * set1(s.gradient_scale));
        F spread = fma(g * set1(s.one_minus_alpha), g, get(squares + i, whole, n) * set1(s.alpha));
        put(squares + i, spread, whole, n);
        if (s.centered) {
          const F mean = fma(set1(s.one_minus_alpha), g, get(means + i, whole, n) * set1(s.alpha));
          put(means + i, mean, whole, n);
          spread = fnma(mean, mean, spread);
        }
        F change = g / (sqrt(spread) + set1(s.eps));
        if (buffers) {
          change = fma(set1(s.momentum), get(buffers + i, whole, n), change);
          put(buffers + i, change, whole, n);
        }
        put(t.p + i, fnma(set1(s.lr), change, p), whole, n);
      });
}

void lion_range(const UpdateTensor& t, const LionScalars& s, int64_t begin, int64_t end) {
  float* const ms = t.state[0];
  for_vectors(
      begin, end, HONE_VECTOR {
        F p = get(t.p + i, whole, n), m = get(ms + i, whole, n);
        lion_step(s, get(t.g.data, t.g.type, i, whole, n), p, m);
        put(ms + i, m, whole, n);
        put(t.p + i, p, whole, n);
      });
}

double sum_squares_range(const Numbers& x, int64_t first, int64_t count) {
  D s[4] = {};
  auto add = [&](F v) __attribute__((always_inline)) {
#if defined(__AVX512F__)
    const D a = _mm512_cvtps_pd(_mm512_castps512_ps256(v));
    const D b = _mm512_cvtps_pd(_mm512_extractf32x8_ps(v, 1));
#elif defined(__AVX2__)
    const D a = _mm256_cvtps_pd(_mm256_castps256_ps128(v));
    const D b = _mm256_cvtps_pd(_mm256_extractf128_ps(v, 1));
#else
    const D a = {v[0], v[1]}, b = {v[2], v[3]};
#endif
    s[0] += a * a;
    s[1] += b * b;
  };
  int64_t i = 0;
  for (; i + 2 * W <= count; i += 2 * W) {
    add(get(x.data, x.type, first + i, std::true_type{}, W));
    const D x0 = s[0], x1 = s[1];  // the second vector goes to the other pair of sums
    s[0] = s[2];
    s[1] = s[3];
    add(get(x.data, x.type, first + i + W, std::true_type{}, W));
    s[2] = s[0];
    s[3] = s[1];
    s[0] = x0;
    s[1] = x1;
  }
  for (; i < count; i += W) add(get(x.data, x.type, first + i, std::false_type{}, count - i));
  const D all = (s[0] + s[1]) + (s[2] + s[3]);
  double sum = 0;
  for (int l = 0; l < W / 2; ++l) sum += all[l];
  return sum;
}

namespace {

HONE_INLINE uint32_t bits(float x) {
  uint32_t u;
  memcpy(&u, &x, 4);
  return u;
}
HONE_INLINE float from_bits(uint32_t u) {
  float x;
  memcpy(&x, &u, 4);
  return x;
}

HONE_INLINE uint16_t half_bits(float x) {
  const uint32_t u = bits(x), sign = u >> 16 & 0x8000, a = u & 0x7fffffff;
  if (a > 0x7f800000) return static_cast<uint16_t>(sign | 0x7e00 | (a >> 13 & 0x3ff));
  if (a >= 0x477ff000) return static_cast<uint16_t>(sign | 0x7c00);  // rounds past 65504
  if (a < 0x38800000)  // subnormal: adding 0.5 leaves multiples of 2^-24 in the low bits, rounded
    return static_cast<uint16_t>(sign | (bits(from_bits(a) + 0.5f) - 0x3f000000));
  return static_cast<uint16_t>(sign | ((a - 0x38000000 + 0xfff + (a >> 13 & 1)) >> 13));
}
HONE_INLINE float half_value(uint16_t h) {
  const uint32_t sign = static_cast<uint32_t>(h & 0x8000) << 16, a = h & 0x7fff;
  if (a >= 0x7c00)
    return from_bits(sign | 0x7f800000 | (a & 0x3ff) << 13 | (a > 0x7c00 ? 0x400000 : 0));
  if (a >= 0x400) return from_bits(sign | ((a << 13) + 0x38000000));
  return from_bits(sign | bits(static_cast<float>(a) * 0x1p-24f));
}

}  // namespace

void f32_to_bf16_range(int64_t count, const float* x, uint16_t* y) {
  for (int64_t i = 0; i < count; ++i) {
    const uint32_t u = bits(x[i]), rounded = (u + 0x7fff + (u >> 16 & 1)) >> 16;
    y[i] = static_cast<uint16_t>((u & 0x7fffffff) > 0x7f800000 ? u >> 16 | 0x40 : rounded);
  }
}

void bf16_to_f32_range(int64_t count, const uint16_t* x, float* y) {
  for (int64_t i = 0; i < count; ++i) y[i] = from_bits(static_cast<uint32_t>(x[i]) << 16);
}

void f32_to_f16_range(int64_t count, const float* x, uint16_t* y) {
  int64_t i = 0;
#if defined(__F16C__)
  for (; i + 8 <= count; i += 8)
    _mm_storeu_si128(reinterpret_cast<__m128i*>(y + i), _mm256_cvtps_ph(_mm256_loadu_ps(x + i), 0));
#endif
  for (; i < count; ++i) y[i] = half_bits(x[i]);
}

void f16_to_f32_range(int64_t count, const uint16_t* x, float* y) {
  int64_t i = 0;
#if defined(__F16C__)
  for (; i + 8 <= count; i += 8)
    _mm256_storeu_ps(y + i,
                     _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(x + i))));
#endif
  for (; i < count; ++i) y[i] = half_value(x[i]);
}

}  // namespace hone::cpu::HONE_ISA
