// The maps of bitsandbytes' 8-bit numbers (engine/ops/quantize_dynamic.cc) and the inverse maps,
// which need no search.
#pragma once

#include <cstdint>

namespace hone::cpu {

// The code of a magnitude y in [0, 1] comes from its bits alone. Its bucket is y's exponent and
// first seven bits of the mantissa, counted from 2^kLeastExponent; smaller y are in bucket 0. A
// bucket has one threshold between two codes at most, so entries[bucket] holds the code below it in
// the bits from kCodeBit on, and below them a number that, added to the bits of y that the bucket
// does not have, carries into the code for y above the threshold:
//   code = (entries[bucket] + (bits of y & kRestMask)) >> kCodeBit
// In the signed map it is the code less that of 0.
struct DynamicMap {
  static constexpr int kRestBits = 16, kCodeBit = 17, kLeastExponent = -23;
  static constexpr int32_t kRestMask = (1 << kRestBits) - 1;
  static constexpr int32_t kFirst = (127 + kLeastExponent)
                                    << (23 - kRestBits);  // of 2^kLeastExponent
  static constexpr int32_t kEntries =
      (-kLeastExponent << (23 - kRestBits)) + 1;  // the last is of 1

  float values[256];
  int32_t entries[kEntries];
};

const DynamicMap& dynamic_codes(bool is_signed);
inline constexpr int32_t kSignedZero = 127;  // the code of 0 in the signed map

}  // namespace hone::cpu
