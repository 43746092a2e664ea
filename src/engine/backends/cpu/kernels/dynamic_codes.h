// Tables for bitsandbytes' 8-bit numbers (engine/ops/quantize_dynamic.cc): from a code to its number, and
// from a number to the nearest code without a search.
#pragma once

#include <cstdint>

namespace hone::cpu {

// The code of a magnitude y in [0, 1] is computed from the f32 bits of y. The exponent and the first seven mantissa
// bits of y select a bucket. Bucket 0 begins at 2^kLeastExponent; smaller y use bucket 0 too. A bucket contains at most
// one threshold between two codes. Bits kCodeBit and up of entries[bucket] are the lower one of the two codes. The
// lower bits of entries[bucket] are an addend for the last kRestBits bits of y: the sum carries into the code if y is
// above the threshold:
//   code = (entries[bucket] + (bits of y & kRestMask)) >> kCodeBit
// For the signed map, this formula gives the code of +y minus kSignedZero.
struct DynamicMap {
  static constexpr int kRestBits = 16, kCodeBit = 17, kLeastExponent = -23;
  static constexpr int32_t kRestMask = (1 << kRestBits) - 1;
  static constexpr int32_t kFirst = (127 + kLeastExponent)
                                    << (23 - kRestBits);  // exponent and mantissa bits of bucket 0
  static constexpr int32_t kEntries =
      (-kLeastExponent << (23 - kRestBits)) + 1;  // the last bucket is that of y = 1

  float values[256];  // the number of each code
  int32_t entries[kEntries];
};

const DynamicMap& dynamic_codes(bool is_signed);
inline constexpr int32_t kSignedZero = 127;  // the code of 0 in the signed map

}  // namespace hone::cpu
