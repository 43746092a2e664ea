// CRC-32C (Castagnoli, RFC 3720): the checksum of Google's object storage and of TensorBoard's
// files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace hone {

// The sum of all bytes so far: `before` covers earlier ones, then these.
uint32_t crc32c(std::span<const std::byte> bytes, uint32_t before = 0);
inline uint32_t crc32c(std::string_view bytes, uint32_t before = 0) {
  return crc32c(std::as_bytes(std::span(bytes)), before);
}
// The sum of two texts in a row, from both sums and the length of the second.
uint32_t crc32c_combine(uint32_t first, uint32_t second, int64_t second_bytes);

}  // namespace hone
