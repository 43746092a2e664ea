// The random generator Philox4x32-10 (base/core/philox.h), W counters at a time, one in each vector lane.
#pragma once

#include "base/core/philox.h"
#include "engine/backends/cpu/isa/simd.h"

namespace hone::cpu::HONE_ISA {

// Computes W blocks of four words. c[w] holds word w of the W counters, and out[w] receives word w of the
// W blocks.
HONE_INLINE void philox(DropoutKey key, const U* c, U* out) {
#if defined(__AVX512F__)
  // AVX-512 multiplies 32 x 32 to 64 bits in every 64-bit lane, with one instruction. So the counters in the even
  // 32-bit lanes (e) and those in the odd ones (o) have vectors of their own. A word is in the low half of a 64-bit
  // lane; the high half is ignored.
  __m512i e[4], o[4];
  unroll<4>(HONE_LAMBDA(w) {
    e[w] = reinterpret_cast<__m512i>(c[w]);
    o[w] = _mm512_srli_epi64(e[w], 32);
  });
  const __m512i m0 = _mm512_set1_epi32(static_cast<int>(0xD2511F53u));
  const __m512i m1 = _mm512_set1_epi32(static_cast<int>(0xCD9E8D57u));
  auto round = [&](__m512i * x, __m512i k0, __m512i k1) __attribute__((always_inline)) {
    const __m512i p0 = _mm512_mul_epu32(x[0], m0), p1 = _mm512_mul_epu32(x[2], m1);
    const __m512i y0 = _mm512_ternarylogic_epi32(_mm512_srli_epi64(p1, 32), x[1], k0, 0x96);
    const __m512i y2 = _mm512_ternarylogic_epi32(_mm512_srli_epi64(p0, 32), x[3], k1, 0x96);
    x[0] = y0;
    x[1] = p1;
    x[2] = y2;
    x[3] = p0;
  };
  unroll<10>(HONE_LAMBDA(r) {
    const __m512i k0 = _mm512_set1_epi32(static_cast<int>(key.k0 + r * 0x9E3779B9u));
    const __m512i k1 = _mm512_set1_epi32(static_cast<int>(key.k1 + r * 0xBB67AE85u));
    round(e, k0, k1);
    round(o, k0, k1);
  });
  unroll<4>(HONE_LAMBDA(w) {
    out[w] = reinterpret_cast<U>(_mm512_mask_mov_epi32(e[w], 0xaaaa, _mm512_slli_epi64(o[w], 32)));
  });
#else
  U x[4] = {c[0], c[1], c[2], c[3]};
  for (int r = 0; r < 10; ++r) {
    U h0, l0, h1, l1;
    mul_wide(x[0], 0xD2511F53u, h0, l0);
    mul_wide(x[2], 0xCD9E8D57u, h1, l1);
    x[0] = h1 ^ x[1] ^ set1(key.k0);
    x[1] = l1;
    x[2] = h0 ^ x[3] ^ set1(key.k1);
    x[3] = l0;
    key.k0 += 0x9E3779B9u;
    key.k1 += 0xBB67AE85u;
  }
  for (int w = 0; w < 4; ++w) out[w] = x[w];
#endif
}

// Dropout: value * scale in lanes whose word is at least the threshold, else 0.
HONE_INLINE F keep(U word, U threshold, F scale, F value) {
  return select(reinterpret_cast<I>(word >= threshold), value * scale, zero());
}

}  // namespace hone::cpu::HONE_ISA
