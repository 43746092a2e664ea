// Dequantizes a matrix (Blocks of gemm.h), some elements of a row at a time. The packing of a product uses
// it, so that the whole matrix is never in memory in f32. Every instruction set gives the same bits.
#pragma once

#include "engine/backends/cpu/gemm/widen_gguf.simd.h"
#include "engine/backends/cpu/isa/simd.h"

namespace hone::cpu::HONE_ISA {
namespace {

// Rounds x to f32: keeps the compiler from fusing a product and a sum into a multiply-add.
HONE_INLINE float rounded(float x) {
  __asm__("" : "+m"(x));
  return x;
}

// Scale number i.
HONE_INLINE float scale_at(const Blocks& b, int64_t i) {
  if (b.narrow_scales == nullptr) return b.scales[i];
  return rounded(b.dynamic[b.narrow_scales[i]] * b.scales[i / b.nested]) + *b.offset;
}

// look_up(p): the numbers of W codes of 4 bits at p, the first in the high half of p[0].
#if defined(__AVX512F__)
struct CodeTable {
  __m512 all;
  explicit CodeTable(const float* code) : all(_mm512_loadu_ps(code)) {}
  HONE_INLINE F look_up(const uint8_t* p) const {
    const __m128i v = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(p));
    const __m128i four = _mm_set1_epi8(15), high = _mm_and_si128(_mm_srli_epi16(v, 4), four);
    const __m128i codes = _mm_unpacklo_epi8(high, _mm_and_si128(v, four));
    return _mm512_permutexvar_ps(_mm512_cvtepu8_epi32(codes), all);
  }
};
#elif defined(__AVX2__)
struct CodeTable {
  __m256 low, high;
  explicit CodeTable(const float* code)
      : low(_mm256_loadu_ps(code)), high(_mm256_loadu_ps(code + 8)) {}
  HONE_INLINE F look_up(const uint8_t* p) const {
    int32_t bytes;
    memcpy(&bytes, p, sizeof bytes);
    const __m128i v = _mm_cvtsi32_si128(bytes), four = _mm_set1_epi8(15);
    const __m128i codes =
        _mm_unpacklo_epi8(_mm_and_si128(_mm_srli_epi16(v, 4), four), _mm_and_si128(v, four));
    const __m256i at = _mm256_cvtepu8_epi32(codes);
    return _mm256_blendv_ps(_mm256_permutevar8x32_ps(low, at), _mm256_permutevar8x32_ps(high, at),
                            _mm256_castsi256_ps(_mm256_slli_epi32(at, 28)));
  }
};
#else
struct CodeTable {
  const float* code;
  explicit CodeTable(const float* c) : code(c) {}
  HONE_INLINE F look_up(const uint8_t* p) const {
    F x;
    for (int l = 0; l < W; l += 2) {
      x[l] = code[p[l / 2] >> 4];
      x[l + 1] = code[p[l / 2] & 15];
    }
    return x;
  }
};
#endif

// Dequantizes elements [first, first + n) of the matrix, seen as one row. `first` is even.
void widen_codes(const Blocks& b, const uint8_t* payload, int64_t first, int64_t n, float* out) {
  const CodeTable table(b.code);
  const int64_t end = first + n;
  for (int64_t i = first; i < end;) {
    const int64_t block = i / b.scaled, stop = min_of(end, (block + 1) * b.scaled);
    const float scale = scale_at(b, block);
    const F scales = set1(scale);
    for (; i + W <= stop; i += W, out += W) store(out, table.look_up(payload + i / 2) * scales);
    for (; i < stop; ++i) {
      const uint8_t pair = payload[i / 2];
      *out++ = b.code[i % 2 == 0 ? pair >> 4 : pair & 15] * scale;
    }
  }
}

void widen_i8(const int8_t* q, float scale, int64_t n, float* out) {
  const F scales = set1(scale), part = set1(1.0f / 127);
  int64_t i = 0;
  for (; i + W <= n; i += W) store(out + i, load(q + i) * scales * part);
  for (; i < n; ++i) out[i] = rounded(static_cast<float>(q[i]) * scale) * (1.0f / 127);
}

template <class T>
void widen_floats(const T* p, int64_t n, float* out) {
  for_vectors(
      0, n, HONE_VECTOR { put(out + i, get(p + i, whole, n), whole, n); });
}

// Dequantizes elements [column, column + n) of a row. `column` is even.
void widen(const Blocks& b, const void* data, int64_t row, int64_t column, int64_t n, float* out) {
  const auto* payload = static_cast<const uint8_t*>(data);
  switch (b.kind) {
    case Blocks::Kind::code4:
      return widen_codes(b, payload, row * b.columns + column, n, out);
    case Blocks::Kind::i8:
      return widen_i8(reinterpret_cast<const int8_t*>(payload) + row * b.columns + column,
                      scale_at(b, row), n, out);
    case Blocks::Kind::f16:
      return widen_floats(static_cast<const Float16*>(data) + row * b.columns + column, n, out);
    case Blocks::Kind::bf16:
      return widen_floats(static_cast<const uint16_t*>(data) + row * b.columns + column, n, out);
    default:
      return widen_gguf(b, payload, row, column, n, out);
  }
}

// ---- packing -------------------------------------------------------------------------------

// The largest number of elements that are dequantized at once. With trans_b: kWideK along k, which fit the L1 cache.
// Without trans_b: kWideRows x kWideColumns, which fit the L2 cache.
constexpr int64_t kWideK = 64, kWideRows = 32, kWideColumns = 768;

// Tiles::pack_b() for a B in blocks.
template <class Tiles>
void pack_widened(const Gemm& g, int64_t j0, int64_t k0, int64_t kc, int64_t p0, int64_t p1,
                  float* out) {
  constexpr int64_t kNR = Tiles::kNR;
  static_assert(kWideColumns % kNR == 0 && kWideK % (2 * W) == 0 && kWideRows % (2 * W) == 0);
  alignas(64) float wide[kWideRows * kWideColumns];
  Gemm part = g;
  part.b = wide;
  part.b_type = Element::f32;
  const auto place = [&](int64_t p, int64_t k) {
    return out + kNR * (p * Tiles::words(kc) + Tiles::words(k));
  };
  if (g.trans_b) {
    part.ldb = kWideK;
    for (int64_t p = p0; p < p1; ++p) {
      const int64_t j = j0 + p * kNR;
      part.n = min_of<int64_t>(kNR, g.n - j);
      for (int64_t k = 0; k < kc; k += kWideK) {
        const int64_t depth = min_of(kWideK, kc - k);
        for (int64_t r = 0; r < part.n; ++r)
          widen(*g.blocks, g.b, j + r, k0 + k, depth, wide + r * kWideK);
        Tiles::pack_b(part, 0, 0, depth, 0, 1, place(p, k));
      }
    }
    return;
  }
  constexpr int64_t kPanels = kWideColumns / kNR;
  part.ldb = kWideColumns;
  for (int64_t pb = p0; pb < p1; pb += kPanels) {
    const int64_t pe = min_of(pb + kPanels, p1), j = j0 + pb * kNR;
    const int64_t columns = min_of((pe - pb) * kNR, g.n - j);
    for (int64_t k = 0; k < kc; k += kWideRows) {
      const int64_t depth = min_of(kWideRows, kc - k);
      for (int64_t r = 0; r < depth; ++r)
        widen(*g.blocks, g.b, k0 + k + r, j, columns, wide + r * kWideColumns);
      for (int64_t p = pb; p < pe; ++p) {
        part.b = wide + (p - pb) * kNR;
        part.n = min_of<int64_t>(kNR, columns - (p - pb) * kNR);
        Tiles::pack_b(part, 0, 0, depth, 0, 1, place(p, k));
      }
    }
  }
}

}  // namespace
}  // namespace hone::cpu::HONE_ISA
