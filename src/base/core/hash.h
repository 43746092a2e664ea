// FNV-1a with 64 bits, a hash of names and rows. Its values never change, so they may be stored in files. Do not use
// the hash for tables whose keys outsiders choose: collisions are easy to make.
//   H(x1 ... xn) = ((...((basis ^ x1) * prime) ^ ...) ^ xn) * prime   (fnvhash.github.io)
#pragma once

#include <cstdint>
#include <string_view>

namespace hone {

inline constexpr uint64_t kFnvBasis = 0xcbf29ce484222325u;

// Extends `hash` by one more value, usually a byte.
constexpr uint64_t fnv1a(uint64_t hash, uint64_t value) { return (hash ^ value) * 0x100000001b3u; }

constexpr uint64_t fnv1a(std::string_view text, uint64_t hash = kFnvBasis) {
  for (const char c : text) hash = fnv1a(hash, static_cast<unsigned char>(c));
  return hash;
}

}  // namespace hone
