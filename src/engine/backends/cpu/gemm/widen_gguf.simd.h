// Blocks of GGUF files as floats, 32 elements at a time: layouts and formulas are in
// docs/formats/gguf.md. Every product is exact in f32, so that a fused multiply-add gives the same
// bits.
#pragma once

#include "engine/backends/cpu/gemm/gemm.h"
#include "engine/backends/cpu/isa/simd.h"

namespace hone::cpu::HONE_ISA {
namespace {

typedef uint8_t Bytes __attribute__((vector_size(16)));
typedef uint16_t Words __attribute__((vector_size(16)));

constexpr int64_t kGroup = 32;

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

// The bits of 16 bytes from `shift` on that `mask` keeps; shift + bits of mask <= 8.
HONE_INLINE Bytes bits_of(const uint8_t* p, int shift, int mask) {
  Words w;
  memcpy(&w, p, sizeof w);
  return reinterpret_cast<Bytes>((w >> shift) & static_cast<uint16_t>(mask * 0x101));
}
// `value` where the byte has a bit, else 0.
HONE_INLINE Bytes where(Bytes bit, int value) {
  return reinterpret_cast<Bytes>(bit != 0) & static_cast<uint8_t>(value);
}
// Bit l of the 16 bits at p as a byte l that is 0 or not.
HONE_INLINE Bytes spread(const uint8_t* p) {
  const Bytes bit{1, 2, 4, 8, 16, 32, 64, 128, 1, 2, 4, 8, 16, 32, 64, 128};
  Bytes b;
  memset(&b, p[0], 8);
  memset(reinterpret_cast<char*>(&b) + 8, p[1], 8);
  return b & bit;
}

// 16 elements q * scale, or q * scale + least.
HONE_INLINE void put16(const int8_t* q, float scale, float* out) {
  for (int i = 0; i < 16; i += W) store(out + i, load(q + i) * set1(scale));
}
HONE_INLINE void put16(Bytes q, float scale, float* out) {
  int8_t codes[16];
  memcpy(codes, &q, sizeof q);
  put16(codes, scale, out);
}
HONE_INLINE void put16(Bytes q, float scale, float least, float* out) {
  int8_t codes[16];
  memcpy(codes, &q, sizeof q);
  for (int i = 0; i < 16; i += W) store(out + i, load(codes + i) * set1(scale) + set1(least));
}

// Each writes elements [32 g, 32 g + 32) of the block at b.
struct Q4_0 {
  static constexpr int64_t kBlock = 32, kBytes = 18;
  static HONE_INLINE void widen(const uint8_t* b, int, float* out) {
    const float d = half_at(b);
    put16(bits_of(b + 2, 0, 15) - 8, d, out);
    put16(bits_of(b + 2, 4, 15) - 8, d, out + 16);
  }
};
struct Q4_1 {
  static constexpr int64_t kBlock = 32, kBytes = 20;
  static HONE_INLINE void widen(const uint8_t* b, int, float* out) {
    const float d = half_at(b), m = half_at(b + 2);
    put16(bits_of(b + 4, 0, 15), d, m, out);
    put16(bits_of(b + 4, 4, 15), d, m, out + 16);
  }
};
struct Q5_0 {
  static constexpr int64_t kBlock = 32, kBytes = 22;
  static HONE_INLINE void widen(const uint8_t* b, int, float* out) {
    const float d = half_at(b);
    put16((bits_of(b + 6, 0, 15) | where(spread(b + 2), 16)) - 16, d, out);
    put16((bits_of(b + 6, 4, 15) | where(spread(b + 4), 16)) - 16, d, out + 16);
  }
};
struct Q5_1 {
  static constexpr int64_t kBlock = 32, kBytes = 24;
  static HONE_INLINE void widen(const uint8_t* b, int, float* out) {
    const float d = half_at(b), m = half_at(b + 2);
    put16(bits_of(b + 8, 0, 15) | where(spread(b + 4), 16), d, m, out);
    put16(bits_of(b + 8, 4, 15) | where(spread(b + 6), 16), d, m, out + 16);
  }
};
struct Q8_0 {
  static constexpr int64_t kBlock = 32, kBytes = 34;
  static HONE_INLINE void widen(const uint8_t* b, int, float* out) {
    const float d = half_at(b);
    const auto* q = reinterpret_cast<const int8_t*>(b + 2);
    put16(q, d, out);
    put16(q + 16, d, out + 16);
  }
};
struct Q2_K {
  static constexpr int64_t kBlock = 256, kBytes = 84;
  static HONE_INLINE void widen(const uint8_t* b, int g, float* out) {
    const float d = half_at(b + 80), m = half_at(b + 82);
    for (int s = 0; s < 2; ++s) {
      const int both = b[2 * g + s];
      put16(bits_of(b + 16 + 32 * (g / 4) + 16 * s, 2 * (g % 4), 3),
            d * static_cast<float>(both & 15), -(m * static_cast<float>(both >> 4)), out + 16 * s);
    }
  }
};
struct Q3_K {
  static constexpr int64_t kBlock = 256, kBytes = 110;
  static HONE_INLINE void widen(const uint8_t* b, int g, float* out) {
    const float d = half_at(b + 108);
    for (int s = 0; s < 2; ++s) {
      const int i = 2 * g + s;
      const int scale =
          (b[96 + i % 8] >> (i < 8 ? 0 : 4) & 15) | (b[104 + i % 4] >> 2 * (i / 4) & 3) << 4;
      const Bytes q = bits_of(b + 32 + 32 * (g / 4) + 16 * s, 2 * (g % 4), 3);
      put16((q | where(bits_of(b + 16 * s, g, 1), 4)) - 4, d * static_cast<float>(scale - 32),
            out + 16 * s);
    }
  }
};
// Scale and minimum of group g of Q4_K and Q5_K.
struct SixBits {
  float scale, least;
  HONE_INLINE SixBits(const uint8_t* b, int g) {
    const uint8_t* p = b + 4;
    int sc, mn;
    if (g < 4) {
      sc = p[g] & 63;
      mn = p[g + 4] & 63;
    } else {
      sc = (p[g + 4] & 15) | p[g - 4] >> 6 << 4;
      mn = p[g + 4] >> 4 | p[g] >> 6 << 4;
    }
    scale = half_at(b) * static_cast<float>(sc);
    least = -(half_at(b + 2) * static_cast<float>(mn));
  }
};
struct Q4_K {
  static constexpr int64_t kBlock = 256, kBytes = 144;
  static HONE_INLINE void widen(const uint8_t* b, int g, float* out) {
    const SixBits with(b, g);
    for (int s = 0; s < 2; ++s)
      put16(bits_of(b + 16 + 32 * (g / 2) + 16 * s, g % 2 * 4, 15), with.scale, with.least,
            out + 16 * s);
  }
};
struct Q5_K {
  static constexpr int64_t kBlock = 256, kBytes = 176;
  static HONE_INLINE void widen(const uint8_t* b, int g, float* out) {
    const SixBits with(b, g);
    for (int s = 0; s < 2; ++s)
      put16(bits_of(b + 48 + 32 * (g / 2) + 16 * s, g % 2 * 4, 15) |
                where(bits_of(b + 16 + 16 * s, g, 1), 16),
            with.scale, with.least, out + 16 * s);
  }
};
struct Q6_K {
  static constexpr int64_t kBlock = 256, kBytes = 210;
  static HONE_INLINE void widen(const uint8_t* b, int g, float* out) {
    const float d = half_at(b + 208);
    for (int s = 0; s < 2; ++s) {
      const Bytes low = bits_of(b + 64 * (g / 4) + 32 * (g % 2) + 16 * s, g / 2 % 2 * 4, 15);
      const Bytes two = bits_of(b + 128 + 32 * (g / 4) + 16 * s, 2 * (g % 4), 3);
      const Bytes high = reinterpret_cast<Bytes>(reinterpret_cast<Words>(two) << 4);
      put16((low | high) - 32, d * static_cast<float>(static_cast<int8_t>(b[192 + 2 * g + s])),
            out + 16 * s);
    }
  }
};

// Elements [column, column + n) of the row at `row`.
template <class Format>
void widen_row(const uint8_t* row, int64_t column, int64_t n, float* out) {
  constexpr int64_t kGroups = Format::kBlock / kGroup;
  for (int64_t i = column, end = column + n; i < end;) {
    const int64_t group = i / kGroup, stop = min_of(end, (group + 1) * kGroup);
    const uint8_t* block = row + group / kGroups * Format::kBytes;
    const auto g = static_cast<int>(group % kGroups);
    if (stop - i == kGroup) {
      Format::widen(block, g, out);
    } else {
      float whole[kGroup];
      Format::widen(block, g, whole);
      memcpy(out, whole + i % kGroup, static_cast<size_t>(stop - i) * sizeof(float));
    }
    out += stop - i;
    i = stop;
  }
}

template <class Format>
void widen_row_of(const Blocks& b, const uint8_t* payload, int64_t row, int64_t column, int64_t n,
                  float* out) {
  widen_row<Format>(payload + row * (b.columns / Format::kBlock * Format::kBytes), column, n, out);
}

void widen_gguf(const Blocks& b, const uint8_t* payload, int64_t row, int64_t column, int64_t n,
                float* out) {
  switch (b.kind) {
    case Blocks::Kind::q4_0:
      return widen_row_of<Q4_0>(b, payload, row, column, n, out);
    case Blocks::Kind::q4_1:
      return widen_row_of<Q4_1>(b, payload, row, column, n, out);
    case Blocks::Kind::q5_0:
      return widen_row_of<Q5_0>(b, payload, row, column, n, out);
    case Blocks::Kind::q5_1:
      return widen_row_of<Q5_1>(b, payload, row, column, n, out);
    case Blocks::Kind::q8_0:
      return widen_row_of<Q8_0>(b, payload, row, column, n, out);
    case Blocks::Kind::q2_k:
      return widen_row_of<Q2_K>(b, payload, row, column, n, out);
    case Blocks::Kind::q3_k:
      return widen_row_of<Q3_K>(b, payload, row, column, n, out);
    case Blocks::Kind::q4_k:
      return widen_row_of<Q4_K>(b, payload, row, column, n, out);
    case Blocks::Kind::q5_k:
      return widen_row_of<Q5_K>(b, payload, row, column, n, out);
    case Blocks::Kind::q6_k:
      return widen_row_of<Q6_K>(b, payload, row, column, n, out);
    default:
      return;
  }
}

}  // namespace
}  // namespace hone::cpu::HONE_ISA
