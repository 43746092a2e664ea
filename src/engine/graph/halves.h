// A weight in f32 that is kept as two halves: all upper halves, then all lower ones, in the bytes of the tensor. The upper
// half of a number is the number in bf16, rounded to nearest (halves away from zero), which products read where it is;
// both together are the number, bit for bit.
#pragma once

#include <bit>
#include <cstdint>

namespace hone {

struct Halves {
  uint16_t upper = 0, lower = 0;
};

// NaN stays NaN; its payload may change.
inline Halves halves_of(float x) {
  const auto bits = std::bit_cast<uint32_t>(x);
  const bool is_nan = (bits & 0x7fffffffu) > 0x7f800000u;
  return {static_cast<uint16_t>(is_nan ? bits >> 16 | 0x40 : (bits + 0x8000u) >> 16),
          static_cast<uint16_t>(bits)};
}

// The lower half counts as a signed number: below 0 if the upper half was rounded up.
inline float joined(Halves h) {
  const auto below = static_cast<uint32_t>(static_cast<int32_t>(static_cast<int16_t>(h.lower)));
  return std::bit_cast<float>((uint32_t{h.upper} << 16) + below);
}

}  // namespace hone
