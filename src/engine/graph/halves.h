// The split form ("halves") of an f32 weight: each number is two 16-bit halves. The tensor's bytes hold all upper
// halves, then all lower halves. The upper half is the number rounded to bf16 (to nearest, ties away from zero), so
// matrix products read the first half of the tensor as a bf16 weight. The two halves together give the f32 number
// bit for bit.
#pragma once

#include <bit>
#include <cstdint>

namespace hone {

struct Halves {
  uint16_t upper = 0, lower = 0;
};

// Splits a number. NaN stays NaN; its payload may change.
inline Halves halves_of(float x) {
  const auto bits = std::bit_cast<uint32_t>(x);
  const bool is_nan = (bits & 0x7fffffffu) > 0x7f800000u;
  return {static_cast<uint16_t>(is_nan ? bits >> 16 | 0x40 : (bits + 0x8000u) >> 16),
          static_cast<uint16_t>(bits)};
}

// Combines the two halves into the f32 number. The lower half is a signed 16-bit number: negative if the upper half was
// rounded up.
inline float joined(Halves h) {
  const auto below = static_cast<uint32_t>(static_cast<int32_t>(static_cast<int16_t>(h.lower)));
  return std::bit_cast<float>((uint32_t{h.upper} << 16) + below);
}

}  // namespace hone
