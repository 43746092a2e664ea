#include "base/store/crc32c.h"

#include <array>
#include <cstring>

namespace hone {
namespace {

constexpr uint32_t kPolynomial = 0x82f63b78;  // bits in reverse

using Tables = std::array<std::array<uint32_t, 256>, 8>;
constexpr Tables make_tables() {
  Tables t{};
  for (uint32_t i = 0; i < 256; ++i) {
    uint32_t c = i;
    for (int k = 0; k < 8; ++k) c = (c >> 1) ^ (c & 1 ? kPolynomial : 0);
    t[0][i] = c;
  }
  for (size_t k = 1; k < 8; ++k)
    for (size_t i = 0; i < 256; ++i) t[k][i] = (t[k - 1][i] >> 8) ^ t[0][t[k - 1][i] & 255];
  return t;
}
constexpr Tables kTables = make_tables();

// Eight bytes at a time by tables.
uint32_t plain(const unsigned char* p, size_t n, uint32_t c) {
  for (; n >= 8; p += 8, n -= 8) {
    uint64_t w;
    std::memcpy(&w, p, 8);
    w ^= c;
    c = 0;
    for (size_t k = 0; k < 8; ++k) c ^= kTables[7 - k][(w >> (8 * k)) & 255];
  }
  for (; n > 0; ++p, --n) c = (c >> 8) ^ kTables[0][(c ^ *p) & 255];
  return c;
}

#if defined(__x86_64__)
__attribute__((target("sse4.2"))) uint32_t fast(const unsigned char* p, size_t n, uint32_t c) {
  uint64_t wide = c;
  for (; n >= 8; p += 8, n -= 8) {
    uint64_t w;
    std::memcpy(&w, p, 8);
    wide = __builtin_ia32_crc32di(wide, w);
  }
  return plain(p, n, static_cast<uint32_t>(wide));
}
bool has_fast() {
  static const bool has = __builtin_cpu_supports("sse4.2") > 0;
  return has;
}
#endif

}  // namespace

uint32_t crc32c(std::span<const std::byte> bytes, uint32_t before) {
  const auto* p = reinterpret_cast<const unsigned char*>(bytes.data());
#if defined(__x86_64__)
  if (has_fast()) return ~fast(p, bytes.size(), ~before);
#endif
  return ~plain(p, bytes.size(), ~before);
}

}  // namespace hone
