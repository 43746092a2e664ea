// Matrices that are kept in few bits, element by element.
#include <cmath>

#include "base/core/dynamic_map.h"
#include "engine/backends/reference/numbers.h"
#include "engine/ops/block_schemes.h"

namespace hone::reference {
namespace {

// The scale of each group of elements.
Numbers scales_of(const Call& c, const KernelArgs& a) {
  Numbers scales = load(a.in[1], c.in[1]);
  if (c.in[1].dtype != DType::u8) return scales;
  const Numbers nested = load(a.in[2], c.in[2]), offset = load(a.in[3], c.in[3]);
  for (size_t i = 0; i < scales.size(); ++i)
    scales[i] = static_cast<double>(dynamic_map(true)[static_cast<size_t>(scales[i])]) *
                    nested[i / static_cast<size_t>(kNestedBlock)] +
                offset[0];
  return scales;
}

double half(const uint8_t* p) {
  const int bits = p[0] | p[1] << 8, exponent = bits >> 10 & 31, fraction = bits & 1023;
  const double sign = bits >> 15 != 0 ? -1 : 1;
  if (exponent == 31) return fraction != 0 ? std::nan("") : sign * INFINITY;
  if (exponent == 0) return sign * std::ldexp(fraction, -24);
  return sign * std::ldexp(1024 + fraction, exponent - 25);
}

// Element i of a block of GGUF: one formula for each format (docs/formats/gguf.md).
double element(const std::string& scheme, const uint8_t* b, int64_t i) {
  const auto low_then_high = [&](int64_t at) { return b[at + i % 16] >> (i < 16 ? 0 : 4) & 15; };
  const auto fifth = [&](int64_t at) { return (b[at + i / 8] >> i % 8 & 1) << 4; };
  // Two bits each: four layers of 32 elements in 32 bytes.
  const auto two_bits = [&](int64_t at) {
    return b[at + i / 128 * 32 + i % 32] >> 2 * (i % 128 / 32) & 3;
  };
  // Scale and minimum of group g of Q4_K and Q5_K, in 6 bits.
  const auto six_bits = [&](bool minimum) {
    const uint8_t* p = b + 4;
    const int64_t g = i / 32, j = g % 4 + (minimum ? 4 : 0);
    if (g < 4) return p[j] & 63;
    return (p[g % 4 + 8] >> (minimum ? 4 : 0) & 15) | p[j] >> 6 << 4;
  };
  const auto nibble = [&](int64_t at) {
    return b[at + i / 64 * 32 + i % 32] >> (i / 32 % 2 * 4) & 15;
  };
  if (scheme == "f16") return half(b);
  if (scheme == "bf16")
    return static_cast<double>(bf16_to_f32(static_cast<uint16_t>(b[0] | b[1] << 8)));
  if (scheme == "q8_0") return half(b) * static_cast<int8_t>(b[2 + i]);
  if (scheme == "mxfp4") {
    constexpr double kE2m1[8] = {0, 0.5, 1, 1.5, 2, 3, 4, 6};
    const int code = low_then_high(1);
    return std::ldexp(code > 7 ? -kE2m1[code - 8] : kE2m1[code], b[0] - 127);
  }
  if (scheme == "q4_0") return half(b) * (low_then_high(2) - 8);
  if (scheme == "q4_1") return half(b) * low_then_high(4) + half(b + 2);
  if (scheme == "q5_0") return half(b) * ((low_then_high(6) | fifth(2)) - 16);
  if (scheme == "q5_1") return half(b) * (low_then_high(8) | fifth(4)) + half(b + 2);
  if (scheme == "q2_k")
    return half(b + 80) * (b[i / 16] & 15) * two_bits(16) - half(b + 82) * (b[i / 16] >> 4);
  if (scheme == "q3_k") {
    const int64_t g = i / 16;
    const int scale = (b[96 + g % 8] >> (g < 8 ? 0 : 4) & 15) | (b[104 + g % 4] >> 2 * (g / 4) & 3)
                                                                    << 4;
    return half(b + 108) * (scale - 32) * (two_bits(32) - ((b[i % 32] >> i / 32 & 1) != 0 ? 0 : 4));
  }
  if (scheme == "q4_k")
    return half(b) * six_bits(false) * nibble(16) - half(b + 2) * six_bits(true);
  if (scheme == "q5_k")
    return half(b) * six_bits(false) * (nibble(48) | (b[16 + i % 32] >> i / 32 & 1) << 4) -
           half(b + 2) * six_bits(true);
  HONE_BUG_IF(scheme != "q6_k", "no formula for {}", scheme);
  const int low = b[i / 128 * 64 + i % 64] >> (i % 128 / 64 * 4) & 15;
  const int high = b[128 + i / 128 * 32 + i % 32] >> 2 * (i % 128 / 32) & 3;
  return half(b + 208) * static_cast<int8_t>(b[192 + i / 16]) * ((low | high << 4) - 32);
}

void dequantize(const Call& c, const KernelArgs& a) {
  const BlockScheme& scheme = *block_scheme(c.attrs.text("scheme"));
  const auto* payload = static_cast<const uint8_t*>(a.in[0]);
  const auto columns = static_cast<size_t>(c.out[0].shape[1]);
  Numbers x(static_cast<size_t>(c.out[0].count()));
  if (scheme.scales_inside()) {
    for (size_t i = 0; i < x.size(); ++i) {
      const auto at = static_cast<int64_t>(i);
      x[i] = element(scheme.name, payload + at / scheme.block * scheme.bytes, at % scheme.block);
    }
    return store(x, a.out[0], c.out[0]);
  }
  const Numbers scales = scales_of(c, a);
  for (size_t i = 0; i < x.size(); ++i) {
    if (scheme.code == nullptr) {
      x[i] = static_cast<double>(static_cast<int8_t>(payload[i])) * scales[i / columns] / 127;
      continue;
    }
    const int code = i % 2 == 0 ? payload[i / 2] >> 4 : payload[i / 2] % 16;
    x[i] = static_cast<double>(scheme.code[code]) * scales[i / static_cast<size_t>(scheme.scaled)];
  }
  store(x, a.out[0], c.out[0]);
}

}  // namespace

void add_blocks(Table& t) { t["dequantize"] = dequantize; }

}  // namespace hone::reference
