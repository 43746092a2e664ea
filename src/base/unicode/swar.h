// Eight bytes of a text at a time, in one register; the first byte is the lowest.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace hone {

static_assert(std::endian::native == std::endian::little);

inline constexpr uint64_t kEveryByte = 0x0101010101010101u;  // times a byte: that byte eight times
inline constexpr uint64_t kHighBits = 0x80 * kEveryByte;

inline uint64_t load_eight(const char* p) {
  uint64_t v;
  std::memcpy(&v, p, 8);
  return v;
}

// The high bit of each byte for which the answer is yes; first_of() is the place of the first one.
inline uint64_t equal_bytes(uint64_t v, char byte) {
  const uint64_t x = v ^ (static_cast<unsigned char>(byte) * kEveryByte);
  return ~(((x & ~kHighBits) + ~kHighBits) | x) & kHighBits;
}
inline uint64_t ascii_letters(uint64_t v) {
  const uint64_t low = (v | 0x20 * kEveryByte) & ~kHighBits;
  const uint64_t from_a = low + (0x80 - 'a') * kEveryByte;
  const uint64_t beyond_z = low + (0x80 - 'z' - 1) * kEveryByte;
  return from_a & ~beyond_z & ~v & kHighBits;
}
inline int first_of(uint64_t high_bits) { return std::countr_zero(high_bits) / 8; }
inline size_t count_of(uint64_t high_bits) { return (high_bits >> 7) * kEveryByte >> 56; }

// The first place of `byte`, or end. Fast if the place is near; use memchr otherwise.
inline const char* find_near(const char* p, const char* end, char byte) {
  for (; end - p >= 8; p += 8)
    if (const uint64_t found = equal_bytes(load_eight(p), byte)) return p + first_of(found);
  while (p < end && *p != byte) ++p;
  return p;
}
// The second of the first two neighbours that both are `byte`, or end.
inline const char* find_twice(const char* p, const char* end, char byte) {
  for (; end - p >= 8; p += 7) {
    const uint64_t found = equal_bytes(load_eight(p), byte);
    if (const uint64_t twice = found & found >> 8) return p + first_of(twice) + 1;
  }
  for (++p; p < end; ++p)
    if (p[-1] == byte && *p == byte) return p;
  return end;
}
// The end of the run of ASCII letters that begins at p.
inline const char* skip_letters(const char* p, const char* end) {
  for (; end - p >= 8; p += 8)
    if (const uint64_t other = ~ascii_letters(load_eight(p)) & kHighBits)
      return p + first_of(other);
  while (p < end && ((*p | 0x20) >= 'a' && (*p | 0x20) <= 'z')) ++p;
  return p;
}

}  // namespace hone
