// SHA-256 (FIPS 180-4) and SHA-1 (RFC 3174), for checking downloads.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/core/error.h"

namespace hone {

// Bytes may come in any number of pieces; the digest is lower-case hexadecimal.
class Sha256 {
 public:
  void add(std::span<const std::byte> bytes);
  std::string hex();

 private:
  void block(const uint8_t* p);
  uint32_t h_[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                    0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  uint8_t buffer_[64];
  uint64_t bytes_ = 0;
};

class Sha1 {
 public:
  void add(std::span<const std::byte> bytes);
  std::string hex();

 private:
  void block(const uint8_t* p);
  uint32_t h_[5] = {0x67452301, 0xEFCDAB89, 0x98BADCFE, 0x10325476, 0xC3D2E1F0};
  uint8_t buffer_[64];
  uint64_t bytes_ = 0;
};

std::string sha256_of_text(std::string_view text);

class Store;
Result<std::string> sha256_of_file(Store& store, const std::string& path);
// The id git gives a file's content: SHA-1 of "blob <bytes>\0" and the bytes.
Result<std::string> git_blob_id_of_file(Store& store, const std::string& path);

}  // namespace hone
