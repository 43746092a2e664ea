#include "engine/backends/cpu/kernels/dynamic_codes.h"

#include <algorithm>
#include <cstring>

#include "base/core/dynamic_map.h"
#include "base/core/error.h"

namespace hone::cpu {
namespace {

int32_t float_bits(float x) {
  int32_t bits;
  std::memcpy(&bits, &x, sizeof bits);
  return bits;
}

DynamicMap make(bool is_signed) {
  DynamicMap m;
  std::ranges::copy(dynamic_map(is_signed), m.values);
  const int32_t zero = is_signed ? kSignedZero : 0;
  constexpr int32_t kCarry = 1 << DynamicMap::kCodeBit;
  int32_t code = zero;
  for (int32_t bucket = 0; bucket < DynamicMap::kEntries; ++bucket) {
    int32_t carry = 0;
    const int32_t first = (DynamicMap::kFirst + bucket) << DynamicMap::kRestBits;
    int32_t next = code;
    if (code < 255) {
      // From these bits on y has the next code; a tie goes to the even one.
      int32_t from = float_bits((m.values[code] + m.values[code + 1]) * 0.5f);
      if (code % 2 == 0) ++from;
      if (from <= first + DynamicMap::kRestMask) {
        HONE_BUG_IF(from < first, "bucket {} comes after its threshold", bucket);
        carry = kCarry - (from - first);
        ++next;
        if (next < 255) {
          const float after = (m.values[next] + m.values[next + 1]) * 0.5f;
          HONE_BUG_IF(float_bits(after) <= first + DynamicMap::kRestMask,
                      "bucket {} has two thresholds", bucket);
        }
      }
    }
    m.entries[bucket] = (code - zero) * kCarry + carry;
    code = next;
  }
  HONE_BUG_IF(code != 255, "the last bucket has the code {}", code);
  return m;
}

}  // namespace

const DynamicMap& dynamic_codes(bool is_signed) {
  static const DynamicMap with_sign = make(true), without = make(false);
  return is_signed ? with_sign : without;
}

}  // namespace hone::cpu
