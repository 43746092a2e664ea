// The hashes SHA-256 (FIPS 180-4), SHA-1 (RFC 3174) and MD5 (RFC 1321), computed by OpenSSL from bytes that are added
// piece by piece.
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
  // The hash of all added bytes, as raw bytes. Call digest() or hex() once; the object cannot be used afterwards.
  std::string digest();
  std::string hex();  // digest() in lower-case hexadecimal

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

// The functions below return lower-case hexadecimal.
std::string hex_of(std::string_view bytes);
std::string sha256_of_text(std::string_view text);

class Store;
// The SHA-256 of a file's content, in lower-case hexadecimal. Errors: those of the store.
Result<std::string> sha256_of_file(Store& store, const std::string& path);
// Git's id of a file's content: the SHA-1 of "blob <size>\0" followed by the bytes. Errors: those of the store.
Result<std::string> git_blob_id_of_file(Store& store, const std::string& path);

}  // namespace hone
