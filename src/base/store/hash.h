// SHA-256 (FIPS 180-4), SHA-1 (RFC 3174) and MD5 (RFC 1321) of bytes that come in any number of pieces, by
// OpenSSL.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/core/error.h"

namespace hone {

class StreamHash {
 public:
  void add(std::span<const std::byte> bytes);
  std::string digest();  // raw bytes; ends the hash
  std::string hex();     // the same in lower-case hexadecimal

 protected:
  explicit StreamHash(const char* name);  // OpenSSL's name of the hash

 private:
  std::unique_ptr<void, void (*)(void*)> context_;
};

struct Sha256 : StreamHash {
  Sha256() : StreamHash("SHA256") {}
};
struct Sha1 : StreamHash {
  Sha1() : StreamHash("SHA1") {}
};
struct Md5 : StreamHash {
  Md5() : StreamHash("MD5") {}
};

std::string hex_of(std::string_view bytes);  // lower case
std::string sha256_of_text(std::string_view text);

class Store;
Result<std::string> sha256_of_file(Store& store, const std::string& path);
// Git's id of a file's content: SHA-1 of "blob <bytes>\0" and the bytes.
Result<std::string> git_blob_id_of_file(Store& store, const std::string& path);

}  // namespace hone
