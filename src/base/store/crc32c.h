// CRC-32C (Castagnoli, RFC 3720): the checksum of Google's object storage and of TensorBoard's
// files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace hone {

// The checksum of `bytes`. To continue a checksum, pass that of the earlier bytes as `before`: the result is the
// checksum of the earlier bytes followed by `bytes`.
uint32_t crc32c(std::span<const std::byte> bytes, uint32_t before = 0);
inline uint32_t crc32c(std::string_view bytes, uint32_t before = 0) {
  return crc32c(std::as_bytes(std::span(bytes)), before);
}

}  // namespace hone
