#include "learn/checkpoint/gguf/ggml_quants.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "learn/checkpoint/safetensors/convert.h"

namespace hone {
namespace {

// Block layouts and formulas: docs/formats/gguf.md.

using Byte = uint8_t;

float half_at(const Byte* p) {
  float x;
  convert(Stored::f16, reinterpret_cast<const std::byte*>(p), DType::f32,
          reinterpret_cast<std::byte*>(&x), 1);
  return x;
}

uint32_t word_at(const Byte* p) {
  uint32_t x;
  std::memcpy(&x, p, sizeof x);
  return x;
}

void q4_0(const Byte* b, float* out) {
  const float d = half_at(b);
  for (int i = 0; i < 16; ++i) {
    out[i] = d * static_cast<float>((b[2 + i] & 15) - 8);
    out[i + 16] = d * static_cast<float>((b[2 + i] >> 4) - 8);
  }
}

void q4_1(const Byte* b, float* out) {
  const float d = half_at(b), m = half_at(b + 2);
  for (int i = 0; i < 16; ++i) {
    out[i] = d * static_cast<float>(b[4 + i] & 15) + m;
    out[i + 16] = d * static_cast<float>(b[4 + i] >> 4) + m;
  }
}

// OCP MX: E2M1 codes with a shared exponent, E8M0.
void mxfp4(const Byte* b, float* out) {
  constexpr float kValues[16] = {0, 0.5, 1, 1.5, 2, 3, 4, 6, -0.0f, -0.5, -1, -1.5, -2, -3, -4, -6};
  const float d = std::ldexp(1.0f, static_cast<int>(b[0]) - 127);
  for (int i = 0; i < 16; ++i) {
    out[i] = d * kValues[b[1 + i] & 15];
    out[i + 16] = d * kValues[b[1 + i] >> 4];
  }
}

void q5_0(const Byte* b, float* out) {
  const float d = half_at(b);
  const uint32_t high = word_at(b + 2);
  for (int i = 0; i < 16; ++i) {
    const int lo = (b[6 + i] & 15) | static_cast<int>((high >> i & 1) << 4);
    const int hi = (b[6 + i] >> 4) | static_cast<int>((high >> (i + 16) & 1) << 4);
    out[i] = d * static_cast<float>(lo - 16);
    out[i + 16] = d * static_cast<float>(hi - 16);
  }
}

void q5_1(const Byte* b, float* out) {
  const float d = half_at(b), m = half_at(b + 2);
  const uint32_t high = word_at(b + 4);
  for (int i = 0; i < 16; ++i) {
    const int lo = (b[8 + i] & 15) | static_cast<int>((high >> i & 1) << 4);
    const int hi = (b[8 + i] >> 4) | static_cast<int>((high >> (i + 16) & 1) << 4);
    out[i] = d * static_cast<float>(lo) + m;
    out[i + 16] = d * static_cast<float>(hi) + m;
  }
}

void q8_0(const Byte* b, float* out) {
  const float d = half_at(b);
  for (int i = 0; i < 32; ++i) out[i] = static_cast<float>(static_cast<int8_t>(b[2 + i])) * d;
}

void q2_k(const Byte* b, float* out) {
  const float d = half_at(b + 80), m = half_at(b + 82);
  for (int g = 0; g < 16; ++g) {  // group g: bits 2*(g/2 % 4) of 16 bytes
    const float dl = d * static_cast<float>(b[g] & 15), ml = m * static_cast<float>(b[g] >> 4);
    const Byte* q = b + 16 + 32 * (g / 8) + 16 * (g % 2);
    const int shift = 2 * (g / 2 % 4);
    for (int i = 0; i < 16; ++i) out[16 * g + i] = dl * static_cast<float>(q[i] >> shift & 3) - ml;
  }
}

void q3_k(const Byte* b, float* out) {
  const float d = half_at(b + 108);
  const Byte* sc = b + 96;
  for (int g = 0; g < 16; ++g) {
    const int low = g < 8 ? sc[g] & 15 : sc[g - 8] >> 4;
    const int high = sc[8 + g % 4] >> (2 * (g / 4)) & 3;
    const float dl = d * static_cast<float>((low | high << 4) - 32);
    const Byte* q = b + 32 + 32 * (g / 8) + 16 * (g % 2);
    const Byte* mask = b + 16 * (g % 2);
    const int shift = 2 * (g / 2 % 4);
    const int bit = g / 2;
    for (int i = 0; i < 16; ++i)
      out[16 * g + i] =
          dl * static_cast<float>((q[i] >> shift & 3) - ((mask[i] >> bit & 1) != 0 ? 0 : 4));
  }
}

// The eight 6-bit scales and mins of Q4_K and Q5_K, packed in 12 bytes.
void scales_and_mins(const Byte* p, std::array<float, 8>& sc, std::array<float, 8>& mn) {
  for (size_t j = 0; j < 4; ++j) {
    sc[j] = static_cast<float>(p[j] & 63);
    mn[j] = static_cast<float>(p[j + 4] & 63);
    sc[j + 4] = static_cast<float>((p[j + 8] & 15) | (p[j] >> 6 << 4));
    mn[j + 4] = static_cast<float>((p[j + 8] >> 4) | (p[j + 4] >> 6 << 4));
  }
}

void q4_k(const Byte* b, float* out) {
  const float d = half_at(b), m = half_at(b + 2);
  std::array<float, 8> sc, mn;
  scales_and_mins(b + 4, sc, mn);
  for (size_t g = 0; g < 8; g += 2) {
    const Byte* q = b + 16 + 16 * g;
    const float d0 = d * sc[g], m0 = m * mn[g], d1 = d * sc[g + 1], m1 = m * mn[g + 1];
    for (int i = 0; i < 32; ++i) out[32 * g + i] = d0 * static_cast<float>(q[i] & 15) - m0;
    for (int i = 0; i < 32; ++i) out[32 * g + 32 + i] = d1 * static_cast<float>(q[i] >> 4) - m1;
  }
}

void q5_k(const Byte* b, float* out) {
  const float d = half_at(b), m = half_at(b + 2);
  std::array<float, 8> sc, mn;
  scales_and_mins(b + 4, sc, mn);
  const Byte* high = b + 16;
  for (size_t g = 0; g < 8; g += 2) {
    const Byte* q = b + 48 + 16 * g;
    const float d0 = d * sc[g], m0 = m * mn[g], d1 = d * sc[g + 1], m1 = m * mn[g + 1];
    for (int i = 0; i < 32; ++i) {
      out[32 * g + i] = d0 * static_cast<float>((q[i] & 15) | (high[i] >> g & 1) << 4) - m0;
      out[32 * g + 32 + i] =
          d1 * static_cast<float>((q[i] >> 4) | (high[i] >> (g + 1) & 1) << 4) - m1;
    }
  }
}

void q6_k(const Byte* b, float* out) {
  const float d = half_at(b + 208);
  const Byte* sc = b + 192;
  for (int h = 0; h < 2; ++h) {    // halves of 128 elements
    for (int g = 0; g < 8; ++g) {  // groups of 16 within
      const float scale = d * static_cast<float>(static_cast<int8_t>(sc[8 * h + g]));
      const Byte* low = b + 64 * h + 16 * (g % 4);
      const Byte* high = b + 128 + 32 * h + 16 * (g % 2);
      const int low_shift = g < 4 ? 0 : 4;
      const int high_shift = 2 * (g / 2);
      for (int i = 0; i < 16; ++i) {
        const int q = (low[i] >> low_shift & 15) | (high[i] >> high_shift & 3) << 4;
        out[128 * h + 16 * g + i] = scale * static_cast<float>(q - 32);
      }
    }
  }
}

template <void (*kOne)(const Byte*, float*), int64_t kElements, int64_t kBytes>
void blocks_of(const std::byte* in, int64_t blocks, float* out) {
  for (int64_t i = 0; i < blocks; ++i)
    kOne(reinterpret_cast<const Byte*>(in) + i * kBytes, out + i * kElements);
}

template <Stored kStored>
void plain(const std::byte* in, int64_t n, float* out) {
  convert(kStored, in, DType::f32, reinterpret_cast<std::byte*>(out), n);
}

template <DType kTo>
void plain_out(const float* in, int64_t n, std::byte* out) {
  convert(Stored::f32, reinterpret_cast<const std::byte*>(in), kTo, out, n);
}

// A scale d = max |x| / 127 as f16, then round(x / d), halves away from zero.
void q8_0_out(const float* in, int64_t blocks, std::byte* out) {
  for (int64_t b = 0; b < blocks; ++b, in += 32, out += 34) {
    float most = 0;
    for (int i = 0; i < 32; ++i) most = std::max(most, std::abs(in[i]));
    const float d = most / 127, inverse = d == 0 ? 0 : 1 / d;
    const uint16_t scale = f32_to_f16(d);
    std::memcpy(out, &scale, 2);
    for (int i = 0; i < 32; ++i)
      out[2 + i] = static_cast<std::byte>(static_cast<int8_t>(std::round(in[i] * inverse)));
  }
}

constexpr GgmlFormat kFormats[] = {
    {0, "F32", 1, 4, plain<Stored::f32>, plain_out<DType::f32>},
    {1, "F16", 1, 2, plain<Stored::f16>, plain_out<DType::f16>},
    {2, "Q4_0", 32, 18, blocks_of<q4_0, 32, 18>},
    {3, "Q4_1", 32, 20, blocks_of<q4_1, 32, 20>},
    {6, "Q5_0", 32, 22, blocks_of<q5_0, 32, 22>},
    {7, "Q5_1", 32, 24, blocks_of<q5_1, 32, 24>},
    {8, "Q8_0", 32, 34, blocks_of<q8_0, 32, 34>, q8_0_out},
    {9, "Q8_1", 32, 40, nullptr},
    {10, "Q2_K", 256, 84, blocks_of<q2_k, 256, 84>},
    {11, "Q3_K", 256, 110, blocks_of<q3_k, 256, 110>},
    {12, "Q4_K", 256, 144, blocks_of<q4_k, 256, 144>},
    {13, "Q5_K", 256, 176, blocks_of<q5_k, 256, 176>},
    {14, "Q6_K", 256, 210, blocks_of<q6_k, 256, 210>},
    {15, "Q8_K", 256, 292, nullptr},
    {16, "IQ2_XXS", 256, 66, nullptr},
    {17, "IQ2_XS", 256, 74, nullptr},
    {18, "IQ3_XXS", 256, 98, nullptr},
    {19, "IQ1_S", 256, 50, nullptr},
    {20, "IQ4_NL", 32, 18, nullptr},
    {21, "IQ3_S", 256, 110, nullptr},
    {22, "IQ2_S", 256, 82, nullptr},
    {23, "IQ4_XS", 256, 136, nullptr},
    {24, "I8", 1, 1, nullptr},
    {25, "I16", 1, 2, nullptr},
    {26, "I32", 1, 4, nullptr},
    {27, "I64", 1, 8, nullptr},
    {28, "F64", 1, 8, nullptr},
    {29, "IQ1_M", 256, 56, nullptr},
    {30, "BF16", 1, 2, plain<Stored::bf16>, plain_out<DType::bf16>},
    {34, "TQ1_0", 256, 54, nullptr},
    {35, "TQ2_0", 256, 66, nullptr},
    {39, "MXFP4", 32, 17, blocks_of<mxfp4, 32, 17>},
    {40, "NVFP4", 64, 36, nullptr},
    {41, "Q1_0", 128, 18, nullptr},
};

}  // namespace

const GgmlFormat* ggml_format(uint32_t id) {
  for (const GgmlFormat& f : kFormats)
    if (f.id == id) return &f;
  return nullptr;
}

const GgmlFormat* ggml_format(std::string_view name) {
  const auto same = [](char a, char b) {
    return a == b || (a >= 'A' && a <= 'Z' && a - 'A' + 'a' == b);
  };
  for (const GgmlFormat& f : kFormats)
    if (std::equal(f.name.begin(), f.name.end(), name.begin(), name.end(), same)) return &f;
  return nullptr;
}

}  // namespace hone
