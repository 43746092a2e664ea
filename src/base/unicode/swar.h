// SWAR ("SIMD within a register"): examines eight bytes of a text at a time in a 64-bit integer. The first byte of the
// text is the lowest byte of the integer.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace hone {

static_assert(std::endian::native == std::endian::little);

inline constexpr uint64_t kEveryByte = 0x0101010101010101u;  // b * kEveryByte has b in each byte
inline constexpr uint64_t kHighBits = 0x80 * kEveryByte;

inline uint64_t load_eight(const char* p) {
  uint64_t v;
  std::memcpy(&v, p, 8);
  return v;
}

// Returns a mask: 0x80 in each byte of v that is equal to `byte`, 0 in the other bytes.
inline uint64_t equal_bytes(uint64_t v, char byte) {
  const uint64_t x = v ^ (static_cast<unsigned char>(byte) * kEveryByte);
  return ~(((x & ~kHighBits) + ~kHighBits) | x) & kHighBits;
}
// Returns a mask: 0x80 in each byte of v that is an ASCII letter, 0 in the other bytes.
inline uint64_t ascii_letters(uint64_t v) {
  const uint64_t low = (v | 0x20 * kEveryByte) & ~kHighBits;
  const uint64_t from_a = low + (0x80 - 'a') * kEveryByte;
  const uint64_t beyond_z = low + (0x80 - 'z' - 1) * kEveryByte;
  return from_a & ~beyond_z & ~v & kHighBits;
}
// The index, 0 to 7, of the first byte that is set in a mask; 8 for an empty mask.
inline int first_of(uint64_t high_bits) { return std::countr_zero(high_bits) / 8; }
// The number of bytes that are set in a mask.
inline size_t count_of(uint64_t high_bits) { return (high_bits >> 7) * kEveryByte >> 56; }

// The first place of `byte` in [p, end), or end. Fast if the place is near p; use memchr() otherwise.
inline const char* find_near(const char* p, const char* end, char byte) {
  for (; end - p >= 8; p += 8)
    if (const uint64_t found = equal_bytes(load_eight(p), byte)) return p + first_of(found);
  while (p < end && *p != byte) ++p;
  return p;
}
// Finds the first place in [p, end) where `byte` appears twice in a row. Returns the second of the two, or end.
inline const char* find_twice(const char* p, const char* end, char byte) {
  for (; end - p >= 8; p += 7) {
    const uint64_t found = equal_bytes(load_eight(p), byte);
    if (const uint64_t twice = found & found >> 8) return p + first_of(twice) + 1;
  }
  for (++p; p < end; ++p)
    if (p[-1] == byte && *p == byte) return p;
  return end;
}
// Returns the first place in [p, end) that is not an ASCII letter, or end.
inline const char* skip_letters(const char* p, const char* end) {
  for (; end - p >= 8; p += 8)
    if (const uint64_t other = ~ascii_letters(load_eight(p)) & kHighBits)
      return p + first_of(other);
  while (p < end && ((*p | 0x20) >= 'a' && (*p | 0x20) <= 'z')) ++p;
  return p;
}

}  // namespace hone
