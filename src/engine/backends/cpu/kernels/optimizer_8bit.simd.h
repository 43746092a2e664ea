// Optimizers with 8-bit and 4-bit states. Each block of states is dequantized, updated and quantized again in one pass.
#include "base/core/dynamic_map.h"
#include "engine/backends/cpu/kernels/dynamic_codes.h"
#include "engine/backends/cpu/kernels/optimizer_8bit.h"
#include "engine/backends/cpu/kernels/optimizer_steps.simd.h"

namespace hone::cpu::HONE_ISA {

namespace {

// Load and store W codes, one byte each, as integers. Unless `whole`, there are n codes: the lanes after them are 0,
// and are not stored.
HONE_INLINE I load_codes(const uint8_t* codes) {
#if defined(__AVX512F__)
  const __m128i v = _mm_loadu_si128(reinterpret_cast<const __m128i*>(codes));
  return reinterpret_cast<I>(_mm512_cvtepu8_epi32(v));
#elif defined(__AVX2__)
  const __m128i v = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(codes));
  return reinterpret_cast<I>(_mm256_cvtepu8_epi32(v));
#else
  I v{};
  for (int l = 0; l < W; ++l) v[l] = codes[l];
  return v;
#endif
}
template <class Whole>
HONE_INLINE I get_codes(const uint8_t* codes, Whole, int64_t n) {
  if constexpr (Whole::value) return load_codes(codes);
  uint8_t part[W] = {};
  memcpy(part, codes, static_cast<size_t>(n));
  return load_codes(part);
}
HONE_INLINE void store_codes(uint8_t* codes, I v) {
#if defined(__AVX512F__)
  _mm_storeu_si128(reinterpret_cast<__m128i*>(codes),
                   _mm512_cvtepi32_epi8(reinterpret_cast<__m512i>(v)));
#else
  for (int l = 0; l < W; ++l) codes[l] = static_cast<uint8_t>(v[l]);
#endif
}
template <class Whole>
HONE_INLINE void put_codes(uint8_t* codes, I v, Whole, int64_t n) {
  if constexpr (Whole::value) {
    store_codes(codes, v);
  } else {
    uint8_t part[W];
    store_codes(part, v);
    memcpy(codes, part, static_cast<size_t>(n));
  }
}

HONE_INLINE F gather(const float* from, I index) {
#if defined(__AVX512F__)
  return _mm512_i32gather_ps(reinterpret_cast<__m512i>(index), from, 4);
#elif defined(__AVX2__)
  return _mm256_i32gather_ps(from, reinterpret_cast<__m256i>(index), 4);
#else
  F v{};
  for (int l = 0; l < W; ++l) v[l] = from[index[l]];
  return v;
#endif
}
HONE_INLINE I gather(const int32_t* from, I index) {
  return as_int(gather(reinterpret_cast<const float*>(from), index));
}

HONE_INLINE I smaller(I a, I b) { return a < b ? a : b; }
HONE_INLINE I larger(I a, I b) { return a > b ? a : b; }
HONE_INLINE F magnitude(F x) { return as_float(as_int(x) & set1(0x7fffffff)); }

// The codes of the numbers x, |x| <= 1, as DynamicMap describes.
template <bool kSigned>
HONE_INLINE I codes_of(F x, const DynamicMap& map) {
  const I bits = as_int(magnitude(x));
  const I bucket = smaller(larger((bits >> DynamicMap::kRestBits) - DynamicMap::kFirst, set1(0)),
                           set1(DynamicMap::kEntries - 1));
  const I sum = gather(map.entries, bucket) + (bits & set1(DynamicMap::kRestMask));
  const I code = sum >> DynamicMap::kCodeBit;
  if constexpr (!kSigned) return code;
  const I below = smaller(larger(code, set1(1)), set1(kSignedZero));
  return set1(kSignedZero) + (as_int(x) < set1(0) ? -below : code);
}

// In each lane: the larger of so_far and |x|. Unless `whole`, lanes from n on are not changed.
template <class Whole>
HONE_INLINE F most(F so_far, F x, Whole, int64_t n) {
  F size = magnitude(x);
  if constexpr (!Whole::value)
    size = select(lane_index() < set1(static_cast<int32_t>(n)), size, zero());
  return max(so_far, size);
}

template <bool kSigned>
HONE_INLINE void encode(const float* x, float absmax, const DynamicMap& map, int64_t count,
                        uint8_t* codes) {
  if (absmax == 0) {
    memset(codes, 0, static_cast<size_t>(count));
    return;
  }
  for_vectors(
      0, count, HONE_VECTOR {
        put_codes(codes + i, codes_of<kSigned>(get(x + i, whole, n) / set1(absmax), map), whole, n);
      });
}

// Converts a block of kFourBitBlock codes from two codes per byte to one code per byte, and back.
HONE_INLINE void unpack(const uint8_t* packed, uint8_t* codes) {
  for (int64_t i = 0; i < kFourBitBlock / 2; ++i) {
    codes[2 * i] = packed[i] >> 4;
    codes[2 * i + 1] = packed[i] & 15;
  }
}
HONE_INLINE void pack(const uint8_t* codes, uint8_t* packed) {
  for (int64_t i = 0; i < kFourBitBlock / 2; ++i)
    packed[i] = static_cast<uint8_t>(codes[2 * i] << 4 | codes[2 * i + 1]);
}
HONE_INLINE void encode_4bit(const float* x, float scale, const FourBitMap& map, uint8_t* packed) {
  uint8_t codes[kFourBitBlock];
  for_vectors(
      0, kFourBitBlock, HONE_VECTOR {
        const F ratio = get(x + i, whole, n) / set1(scale);
        I code = set1(0);
        unroll<15>(HONE_LAMBDA(k) { code -= ratio >= set1(map.above[k]); });
        put_codes(codes + i, code, whole, n);
      });
  pack(codes, packed);
}

HONE_INLINE int64_t elements_of(const Update8bitTensor& t, int64_t first) {
  return min_of(kDynamicBlock, t.count - first);
}

}  // namespace

void adamw_8bit_blocks(const Update8bitTensor& t, const AdamWScalars& s,
                       const DynamicMap& with_sign, const DynamicMap& without, int64_t begin,
                       int64_t end) {
  alignas(64) float ms[kDynamicBlock], vs[kDynamicBlock];
  for (int64_t block = begin; block < end; ++block) {
    const int64_t first = block * kDynamicBlock, count = elements_of(t, first);
    float* const ps = t.p + first;
    uint8_t *const m_codes = t.codes[0] + first, *const v_codes = t.codes[1] + first;
    const F m_scale = set1(t.absmax[0][block]), v_scale = set1(t.absmax[1][block]);
    F m_most = zero(), v_most = zero();
    for_vectors(
        0, count, HONE_VECTOR {
          F p = get(ps + i, whole, n);
          F m = gather(with_sign.values, get_codes(m_codes + i, whole, n)) * m_scale;
          F v = gather(without.values, get_codes(v_codes + i, whole, n)) * v_scale;
          adamw_step(s, get(t.g.data, t.g.type, first + i, whole, n), p, m, v);
          put(ps + i, p, whole, n);
          put(ms + i, m, whole, n);
          put(vs + i, v, whole, n);
          m_most = most(m_most, m, whole, n);
          v_most = most(v_most, v, whole, n);
        });
    t.absmax[0][block] = reduce_max(m_most);
    t.absmax[1][block] = reduce_max(v_most);
    encode<true>(ms, t.absmax[0][block], with_sign, count, m_codes);
    encode<false>(vs, t.absmax[1][block], without, count, v_codes);
  }
}

void adamw_4bit_blocks(const Update8bitTensor& t, const AdamWScalars& s,
                       const FourBitMap& with_sign, const FourBitMap& without, int64_t begin,
                       int64_t end) {
  alignas(64) float ms[kFourBitBlock], vs[kFourBitBlock];
  uint8_t m_codes[kFourBitBlock], v_codes[kFourBitBlock];
  for (int64_t block = begin; block < end; ++block) {
    const int64_t first = block * kFourBitBlock;
    float* const ps = t.p + first;
    unpack(t.codes[0] + first / 2, m_codes);
    unpack(t.codes[1] + first / 2, v_codes);
    const F m_scale = set1(t.absmax[0][block]), v_scale = set1(t.absmax[1][block]);
    F m_most = set1(1e-12f), v_most = set1(1e-12f);
    for_vectors(
        0, kFourBitBlock, HONE_VECTOR {
          F p = get(ps + i, whole, n);
          F m = gather(with_sign.values, get_codes(m_codes + i, whole, n)) * m_scale;
          F v = gather(without.values, get_codes(v_codes + i, whole, n)) * v_scale;
          adamw_step(s, get(t.g.data, t.g.type, first + i, whole, n), p, m, v);
          put(ps + i, p, whole, n);
          put(ms + i, m, whole, n);
          put(vs + i, v, whole, n);
          m_most = most(m_most, m, whole, n);
          v_most = most(v_most, v, whole, n);
        });
    t.absmax[0][block] = reduce_max(m_most);
    t.absmax[1][block] = reduce_max(v_most);
    encode_4bit(ms, t.absmax[0][block], with_sign, t.codes[0] + first / 2);
    encode_4bit(vs, t.absmax[1][block], without, t.codes[1] + first / 2);
  }
}

void lion_8bit_blocks(const Update8bitTensor& t, const LionScalars& s, const DynamicMap& with_sign,
                      int64_t begin, int64_t end) {
  alignas(64) float ms[kDynamicBlock];
  for (int64_t block = begin; block < end; ++block) {
    const int64_t first = block * kDynamicBlock, count = elements_of(t, first);
    float* const ps = t.p + first;
    uint8_t* const codes = t.codes[0] + first;
    const F scale = set1(t.absmax[0][block]);
    F largest = zero();
    for_vectors(
        0, count, HONE_VECTOR {
          F p = get(ps + i, whole, n);
          F m = gather(with_sign.values, get_codes(codes + i, whole, n)) * scale;
          lion_step(s, get(t.g.data, t.g.type, first + i, whole, n), p, m);
          put(ps + i, p, whole, n);
          put(ms + i, m, whole, n);
          largest = most(largest, m, whole, n);
        });
    t.absmax[0][block] = reduce_max(largest);
    encode<true>(ms, t.absmax[0][block], with_sign, count, codes);
  }
}

void quantize_block(int64_t count, const float* x, bool is_signed, const DynamicMap& map,
                    uint8_t* codes, float* absmax) {
  F largest = zero();
  for_vectors(
      0, count, HONE_VECTOR { largest = most(largest, get(x + i, whole, n), whole, n); });
  *absmax = reduce_max(largest);
  if (is_signed)
    encode<true>(x, *absmax, map, count, codes);
  else
    encode<false>(x, *absmax, map, count, codes);
}

void dequantize_block(int64_t count, const uint8_t* codes, float absmax, const DynamicMap& map,
                      float* x) {
  for_vectors(
      0, count, HONE_VECTOR {
        put(x + i, gather(map.values, get_codes(codes + i, whole, n)) * set1(absmax), whole, n);
      });
}

}  // namespace hone::cpu::HONE_ISA
