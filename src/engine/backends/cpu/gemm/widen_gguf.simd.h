// Dequantizes the blocks of GGUF files, a group of 32 elements at a time. docs/formats/gguf.md has the
// layouts and formulas. Every product is exact in f32, so a fused multiply-add gives the same bits.
#pragma once

#include "engine/backends/cpu/gemm/gemm.h"
#include "engine/backends/cpu/isa/simd.h"

namespace hone::cpu::HONE_ISA {
namespace {

typedef uint8_t Bytes __attribute__((vector_size(16)));
typedef uint16_t Words __attribute__((vector_size(16)));

constexpr int64_t kGroup = 32;

// The f16 at p, as f32.
HONE_INLINE float half_at(const uint8_t* p) {
  uint16_t bits;
  memcpy(&bits, p, sizeof bits);
#if defined(__F16C__)
  return _cvtsh_ss(bits);
#else
  const Float16 one{bits};
  return load_n(&one, 1)[0];
#endif
}

// (p[i] >> shift) & mask, for 16 bytes. shift plus the number of bits of mask is at most 8.
HONE_INLINE Bytes bits_of(const uint8_t* p, int shift, int mask) {
  Words w;
  memcpy(&w, p, sizeof w);
  return reinterpret_cast<Bytes>((w >> shift) & static_cast<uint16_t>(mask * 0x101));
}
// `value` in the bytes in which `bit` is not 0; 0 in the other bytes.
HONE_INLINE Bytes where(Bytes bit, int value) {
  return reinterpret_cast<Bytes>(bit != 0) & static_cast<uint8_t>(value);
}
// 16 bytes: byte l is not 0 iff bit l of the 16 bits at p is set.
HONE_INLINE Bytes spread(const uint8_t* p) {
  const Bytes bit{1, 2, 4, 8, 16, 32, 64, 128, 1, 2, 4, 8, 16, 32, 64, 128};
  Bytes b;
  memset(&b, p[0], 8);
  memset(reinterpret_cast<char*>(&b) + 8, p[1], 8);
  return b & bit;
}

constexpr int kParts = 16 / W;  // vectors that hold 16 floats
// Converts 16 signed codes to floats.
HONE_INLINE void floats_of(Bytes q, F* v) {
#if defined(__AVX512F__)
  v[0] = _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(reinterpret_cast<__m128i>(q)));
#elif defined(__AVX2__)
  const __m128i all = reinterpret_cast<__m128i>(q);
  v[0] = _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(all));
  v[1] = _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(_mm_srli_si128(all, 8)));
#else
  int8_t codes[16];
  memcpy(codes, &q, sizeof q);
  for (int i = 0; i < kParts; ++i) v[i] = load(codes + i * W);
#endif
}
// Computes 16 elements q * scale, or q * scale + least.
HONE_INLINE void scale16(Bytes q, F scale, F* v) {
  floats_of(q, v);
  unroll<kParts>(HONE_LAMBDA(i) { v[i] = v[i] * scale; });
}
HONE_INLINE void scale16(Bytes q, F scale, F least, F* v) {
  floats_of(q, v);
  unroll<kParts>(HONE_LAMBDA(i) { v[i] = fma(v[i], scale, least); });
}
HONE_INLINE Bytes bytes_at(const uint8_t* p) {
  Bytes b;
  memcpy(&b, p, sizeof b);
  return b;
}

// A format has blocks of kBlock elements in kBytes bytes. read(b) reads the scales of the block at b.
// group(b, first, turn, v) then dequantizes its elements [32 g, 32 g + 32), with g = first + turn, into v. `turn` is a
// compile-time constant below kTurn, and `first` a multiple of kTurn.
struct OneScale {
  static constexpr int64_t kBlock = 32;
  static constexpr int kTurn = 1;
  F scale;
  HONE_INLINE void read(const uint8_t* b) { scale = set1(half_at(b)); }
};
struct ScaleAndLeast {
  static constexpr int64_t kBlock = 32;
  static constexpr int kTurn = 1;
  F scale, least;
  HONE_INLINE void read(const uint8_t* b) {
    scale = set1(half_at(b));
    least = set1(half_at(b + 2));
  }
};

// Computes q * scale + least for 16 codes q, four bits of each byte from bit Shift on.
template <int Shift>
HONE_INLINE void four_bits(const uint8_t* p, F scale, F least, F* v) {
#if defined(__AVX512F__)
  const F table = fma(to_float(lane_index()), scale, least);  // only 4 bits of an index count
  const __m512i q = _mm512_cvtepu8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
  v[0] = _mm512_permutexvar_ps(Shift == 0 ? q : _mm512_srli_epi32(q, Shift), table);
#else
  scale16(bits_of(p, Shift, 15), scale, least, v);
#endif
}

struct Q4_0 : OneScale {
  static constexpr int64_t kBytes = 18;
  template <class Turn>
  HONE_INLINE void group(const uint8_t* b, int, Turn, F* v) const {
    const F least = scale * set1(-8.0f);
    four_bits<0>(b + 2, scale, least, v);
    four_bits<4>(b + 2, scale, least, v + kParts);
  }
};
struct Q4_1 : ScaleAndLeast {
  static constexpr int64_t kBytes = 20;
  template <class Turn>
  HONE_INLINE void group(const uint8_t* b, int, Turn, F* v) const {
    four_bits<0>(b + 4, scale, least, v);
    four_bits<4>(b + 4, scale, least, v + kParts);
  }
};
struct Q5_0 : OneScale {
  static constexpr int64_t kBytes = 22;
  template <class Turn>
  HONE_INLINE void group(const uint8_t* b, int, Turn, F* v) const {
    scale16((bits_of(b + 6, 0, 15) | where(spread(b + 2), 16)) - 16, scale, v);
    scale16((bits_of(b + 6, 4, 15) | where(spread(b + 4), 16)) - 16, scale, v + kParts);
  }
};
struct Q5_1 : ScaleAndLeast {
  static constexpr int64_t kBytes = 24;
  template <class Turn>
  HONE_INLINE void group(const uint8_t* b, int, Turn, F* v) const {
    scale16(bits_of(b + 8, 0, 15) | where(spread(b + 4), 16), scale, least, v);
    scale16(bits_of(b + 8, 4, 15) | where(spread(b + 6), 16), scale, least, v + kParts);
  }
};
struct Q8_0 : OneScale {
  static constexpr int64_t kBytes = 34;
  template <class Turn>
  HONE_INLINE void group(const uint8_t* b, int, Turn, F* v) const {
    scale16(bytes_at(b + 2), scale, v);
    scale16(bytes_at(b + 18), scale, v + kParts);
  }
};

// MXFP4: E2M1 numbers times a power of two. Twice an E2M1 number is an integer, so codes are converted to that integer,
// and the scale is halved.
struct MxFp4 {
  static constexpr int64_t kBlock = 32, kBytes = 17;
  static constexpr int kTurn = 1;
  F half_scale;
  HONE_INLINE void read(const uint8_t* b) {
    // 2^(e - 128), where e = b[0]; subnormal for e = 0 and 1.
    const uint32_t bits = b[0] < 2 ? uint32_t{0x200000} << b[0] : uint32_t{b[0] - 1u} << 23;
    float scale;
    memcpy(&scale, &bits, sizeof scale);
    half_scale = set1(scale);
  }
  template <class Turn>
  HONE_INLINE void group(const uint8_t* b, int, Turn, F* v) const {
    scale16(twice(bits_of(b + 1, 0, 15)), half_scale, v);
    scale16(twice(bits_of(b + 1, 4, 15)), half_scale, v + kParts);
  }

 private:
  // Twice the numbers of E2M1 codes: 0, 1, 2, 3, 4, 6, 8, 12, and these negated.
  static HONE_INLINE Bytes twice(Bytes codes) {
    const Bytes m = codes & 7;
    const auto if_is = [&](int code, int value) {
      return reinterpret_cast<Bytes>(m == static_cast<uint8_t>(code)) & static_cast<uint8_t>(value);
    };
    const Bytes size = m + if_is(5, 1) + if_is(6, 2) + if_is(7, 5);
    const Bytes sign = reinterpret_cast<Bytes>((codes & 8) != 0);
    return (size ^ sign) - sign;
  }
};

// The scales of a block of 256 elements, one for each 16 elements. A scale is a signed code times d.
struct HalfScales {
  float of[16];
  HONE_INLINE void read(Bytes codes, float d) {
    F v[kParts];
    scale16(codes, set1(d), v);
    unroll<kParts>(HONE_LAMBDA(i) { store(of + i * W, v[i]); });
  }
};
struct Q2_K {
  static constexpr int64_t kBlock = 256, kBytes = 84;
  static constexpr int kTurn = 4;
  HalfScales scale, least;
  HONE_INLINE void read(const uint8_t* b) {
    scale.read(bits_of(b, 0, 15), half_at(b + 80));
    least.read(bits_of(b, 4, 15), -half_at(b + 82));
  }
  template <class Turn>
  HONE_INLINE void group(const uint8_t* b, int first, Turn turn, F* v) const {
    const int g = first + turn;
    unroll<2>(HONE_LAMBDA(s) {
      scale16(bits_of(b + 16 + 8 * first + 16 * s, 2 * turn, 3), set1(scale.of[2 * g + s]),
              set1(least.of[2 * g + s]), v + s * kParts);
    });
  }
};
struct Q3_K {
  static constexpr int64_t kBlock = 256, kBytes = 110;
  static constexpr int kTurn = 4;
  HalfScales scale;
  HONE_INLINE void read(const uint8_t* b) {
    uint8_t codes[16];
    for (int i = 0; i < 16; ++i)
      codes[i] = static_cast<uint8_t>((b[96 + i % 8] >> (i < 8 ? 0 : 4) & 15) |
                                      (b[104 + i % 4] >> 2 * (i / 4) & 3) << 4);
    scale.read(bytes_at(codes) - 32, half_at(b + 108));
  }
  template <class Turn>
  HONE_INLINE void group(const uint8_t* b, int first, Turn turn, F* v) const {
    const int g = first + turn;
    unroll<2>(HONE_LAMBDA(s) {
      const Bytes q = bits_of(b + 32 + 8 * first + 16 * s, 2 * turn, 3);
      scale16((q | where(bits_of(b + 16 * s, g, 1), 4)) - 4, set1(scale.of[2 * g + s]),
              v + s * kParts);
    });
  }
};
// The scales and minima of Q4_K and Q5_K, one of each for a group of 32 elements, in 6 bits: eight scales, then eight
// minima.
struct SixBits {
  static constexpr int64_t kBlock = 256;
  static constexpr int kTurn = 2;
  float of[16];
  HONE_INLINE void read(const uint8_t* b) {
    uint32_t p[3];
    memcpy(p, b + 4, sizeof p);
    const uint32_t codes[4] = {
        p[0] & 0x3f3f3f3f, (p[2] & 0x0f0f0f0f) | (p[0] >> 6 & 0x03030303) << 4, p[1] & 0x3f3f3f3f,
        (p[2] >> 4 & 0x0f0f0f0f) | (p[1] >> 6 & 0x03030303) << 4};
    Bytes all;
    memcpy(&all, codes, sizeof all);
    const F d = set1(half_at(b)), m = set1(-half_at(b + 2));
    F v[kParts];
    floats_of(all, v);
    unroll<kParts>(HONE_LAMBDA(i) {
      const F by = W == 16 ? select(lane_index() < 8, d, m) : i * W < 8 ? d : m;
      store(of + i * W, v[i] * by);
    });
  }
};
struct Q4_K : SixBits {
  static constexpr int64_t kBytes = 144;
  template <class Turn>
  HONE_INLINE void group(const uint8_t* b, int first, Turn turn, F* v) const {
    const F scale = set1(of[first + turn]), least = set1(of[8 + first + turn]);
    unroll<2>(HONE_LAMBDA(s) {
      four_bits<4 * turn>(b + 16 + 16 * first + 16 * s, scale, least, v + s * kParts);
    });
  }
};
struct Q5_K : SixBits {
  static constexpr int64_t kBytes = 176;
  template <class Turn>
  HONE_INLINE void group(const uint8_t* b, int first, Turn turn, F* v) const {
    const int g = first + turn;
    const F scale = set1(of[g]), least = set1(of[8 + g]);
    unroll<2>(HONE_LAMBDA(s) {
      scale16(bits_of(b + 48 + 16 * first + 16 * s, 4 * turn, 15) |
                  where(bits_of(b + 16 + 16 * s, g, 1), 16),
              scale, least, v + s * kParts);
    });
  }
};
struct Q6_K {
  static constexpr int64_t kBlock = 256, kBytes = 210;
  static constexpr int kTurn = 4;
  HalfScales scale;
  HONE_INLINE void read(const uint8_t* b) { scale.read(bytes_at(b + 192), half_at(b + 208)); }
  template <class Turn>
  HONE_INLINE void group(const uint8_t* b, int first, Turn turn, F* v) const {
    const float* scales = scale.of + 2 * (first + turn);
#if defined(__AVX512F__)
    const __m512i all = two_groups<turn / 2>(b + 16 * first, b + 128 + 8 * first);
    unroll<2>(HONE_LAMBDA(s) {
      scale16(reinterpret_cast<Bytes>(_mm512_extracti32x4_epi32(all, turn % 2 * 2 + s)),
              set1(scales[s]), v + s);
    });
#else
    unroll<2>(HONE_LAMBDA(s) {
      const Bytes low = bits_of(b + 16 * first + 32 * (turn % 2) + 16 * s, turn / 2 * 4, 15);
      const Bytes two = bits_of(b + 128 + 8 * first + 16 * s, 2 * turn, 3);
      const Bytes high = reinterpret_cast<Bytes>(reinterpret_cast<Words>(two) << 4);
      scale16((low | high) - 32, set1(scales[s]), v + s * kParts);
    });
#endif
  }

 private:
#if defined(__AVX512F__)
  // The codes of groups 2 * Pair and 2 * Pair + 1 of four groups, minus 32.
  template <int Pair>
  static HONE_INLINE __m512i two_groups(const uint8_t* low, const uint8_t* high) {
    const __m512i four = _mm512_set1_epi8(15), two = _mm512_set1_epi8(48);
    const __m512i shifts = _mm512_inserti64x4(_mm512_setzero_si512(), _mm256_set1_epi16(2), 1);
    const __m512i both =
        _mm512_broadcast_i64x4(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(high)));
    __m512i l = _mm512_loadu_si512(low);
    // Bits 2 turn and 2 turn + 1 become bits 4 and 5.
    __m512i h = Pair == 0 ? _mm512_srlv_epi16(_mm512_slli_epi16(both, 4), shifts)
                          : _mm512_srlv_epi16(both, shifts);
    if constexpr (Pair == 1) l = _mm512_srli_epi16(l, 4);
    const __m512i q = _mm512_or_si512(_mm512_and_si512(l, four), _mm512_and_si512(h, two));
    return _mm512_sub_epi8(q, _mm512_set1_epi8(32));
  }
#endif
};

// Calls f with an object of the format of this kind; does nothing for kinds that are not GGUF's.
template <class Fn>
HONE_INLINE void with_format(Blocks::Kind kind, Fn&& f) {
  switch (kind) {
    case Blocks::Kind::q4_0:
      return f(Q4_0{});
    case Blocks::Kind::q4_1:
      return f(Q4_1{});
    case Blocks::Kind::q5_0:
      return f(Q5_0{});
    case Blocks::Kind::q5_1:
      return f(Q5_1{});
    case Blocks::Kind::q8_0:
      return f(Q8_0{});
    case Blocks::Kind::q2_k:
      return f(Q2_K{});
    case Blocks::Kind::q3_k:
      return f(Q3_K{});
    case Blocks::Kind::q4_k:
      return f(Q4_K{});
    case Blocks::Kind::q5_k:
      return f(Q5_K{});
    case Blocks::Kind::q6_k:
      return f(Q6_K{});
    case Blocks::Kind::mxfp4:
      return f(MxFp4{});
    default:
      return;
  }
}

// Dequantizes elements [column, column + n) of the row that begins at `row`.
template <class Format>
void widen_row(const uint8_t* row, int64_t column, int64_t n, float* out) {
  constexpr int64_t kGroups = Format::kBlock / kGroup;
  Format format;
  const uint8_t* before = nullptr;
  for (int64_t i = column, end = column + n; i < end;) {
    const int64_t group = i / kGroup, stop = min_of(end, (group + 1) * kGroup);
    const uint8_t* block = row + group / kGroups * Format::kBytes;
    if (block != before) format.read(block);
    before = block;
    F v[2 * kParts];
    const auto g = static_cast<int>(group % kGroups);
    unroll<Format::kTurn>(HONE_LAMBDA(turn) {
      if (g % Format::kTurn == turn) format.group(block, g - turn, turn, v);
    });
    if (stop - i == kGroup) {
      unroll<2 * kParts>(HONE_LAMBDA(p) { store(out + p * W, v[p]); });
    } else {
      float whole[kGroup];
      unroll<2 * kParts>(HONE_LAMBDA(p) { store(whole + p * W, v[p]); });
      memcpy(out, whole + i % kGroup, static_cast<size_t>(stop - i) * sizeof(float));
    }
    out += stop - i;
    i = stop;
  }
}

void widen_gguf(const Blocks& b, const uint8_t* payload, int64_t row, int64_t column, int64_t n,
                float* out) {
  with_format(b.kind, [&](auto format) {
    using Format = decltype(format);
    widen_row<Format>(payload + row * (b.columns / Format::kBlock * Format::kBytes), column, n,
                      out);
  });
}

}  // namespace
}  // namespace hone::cpu::HONE_ISA
