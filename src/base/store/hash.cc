#include "base/store/hash.h"

#include <openssl/evp.h>

#include "base/store/store.h"

namespace hone {
namespace {

Status add_file(Store& store, const std::string& path, StreamHash& hash) {
  std::unique_ptr<Reader> reader = HONE_TRY(store.open(path));
  std::vector<std::byte> buffer(1 << 20);
  for (int64_t at = 0; at < reader->bytes();) {
    size_t n = static_cast<size_t>(std::min<int64_t>(reader->bytes() - at, 1 << 20));
    HONE_TRY(reader->read(at, std::span(buffer).first(n)));
    hash.add(std::span(buffer).first(n));
    at += static_cast<int64_t>(n);
  }
  return Ok{};
}

EVP_MD_CTX* evp(const std::unique_ptr<void, void (*)(void*)>& context) {
  return static_cast<EVP_MD_CTX*>(context.get());
}

}  // namespace

StreamHash::StreamHash(const char* name)
    : context_(EVP_MD_CTX_new(), [](void* c) { EVP_MD_CTX_free(static_cast<EVP_MD_CTX*>(c)); }) {
  HONE_BUG_IF(EVP_DigestInit_ex(evp(context_), EVP_get_digestbyname(name), nullptr) != 1,
              "OpenSSL has no {}", name);
}
void StreamHash::add(std::span<const std::byte> bytes) {
  EVP_DigestUpdate(evp(context_), bytes.data(), bytes.size());
}
std::string StreamHash::digest() {
  unsigned char out[EVP_MAX_MD_SIZE];
  unsigned int length = 0;
  HONE_BUG_IF(EVP_DigestFinal_ex(evp(context_), out, &length) != 1, "a hash that has ended");
  return {reinterpret_cast<const char*>(out), length};
}
std::string StreamHash::hex() { return hex_of(digest()); }

std::string hex_of(std::string_view bytes) {
  std::string out;
  for (const char c : bytes) out += fmt::format("{:02x}", static_cast<unsigned char>(c));
  return out;
}

std::string sha256_of_text(std::string_view text) {
  Sha256 hash;
  hash.add(std::as_bytes(std::span(text)));
  return hash.hex();
}

Result<std::string> sha256_of_file(Store& store, const std::string& path) {
  Sha256 hash;
  HONE_TRY(add_file(store, path, hash));
  return hash.hex();
}
Result<std::string> git_blob_id_of_file(Store& store, const std::string& path) {
  Sha1 hash;
  std::string head = fmt::format("blob {}", HONE_TRY(store.bytes(path)));
  hash.add(std::as_bytes(std::span(head.c_str(), head.size() + 1)));
  HONE_TRY(add_file(store, path, hash));
  return hash.hex();
}

}  // namespace hone
