#include "base/store/credentials/crypto.h"

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/pem.h>

#include <memory>

#include "base/store/errors.h"
#include "base/unicode/base64.h"

namespace hone {
namespace {

template <auto free>
struct Freed {
  template <class T>
  void operator()(T* p) const {
    free(p);
  }
};

}  // namespace

std::string hmac_sha256(std::string_view key, std::string_view text) {
  unsigned char out[EVP_MAX_MD_SIZE];
  unsigned int length = 0;
  HONE_BUG_IF(HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()),
                   reinterpret_cast<const unsigned char*>(text.data()), text.size(), out,
                   &length) == nullptr,
              "OpenSSL has no HMAC");
  return {reinterpret_cast<const char*>(out), length};
}

std::string md5(std::span<const std::byte> bytes) {
  Md5 hash;
  hash.add(bytes);
  return hash.digest();
}

Result<std::string> sign_rs256(const std::string& pem, std::string_view text,
                               const std::string& where) {
  const std::unique_ptr<BIO, Freed<BIO_free>> in(
      BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
  const std::unique_ptr<EVP_PKEY, Freed<EVP_PKEY_free>> key(
      PEM_read_bio_PrivateKey(in.get(), nullptr, nullptr, nullptr));
  const std::unique_ptr<EVP_MD_CTX, Freed<EVP_MD_CTX_free>> context(EVP_MD_CTX_new());
  size_t length = 0;
  const auto* data = reinterpret_cast<const unsigned char*>(text.data());
  if (!key || EVP_PKEY_get_base_id(key.get()) != EVP_PKEY_RSA ||
      EVP_DigestSignInit(context.get(), nullptr, EVP_sha256(), nullptr, key.get()) != 1 ||
      EVP_DigestSign(context.get(), nullptr, &length, data, text.size()) != 1)
    return Error(err::kCredentials, "the private key is not a readable RSA key in PEM")
        .at(where)
        .todo("make a new key of the service account and name its file");
  std::string signature(length, '\0');
  HONE_BUG_IF(EVP_DigestSign(context.get(), reinterpret_cast<unsigned char*>(signature.data()),
                             &length, data, text.size()) != 1,
              "OpenSSL cannot sign");
  signature.resize(length);
  return signature;
}

std::string base64_url(std::string_view bytes) {
  std::string text = encode_base64(bytes);
  while (text.ends_with('=')) text.pop_back();
  for (char& c : text) c = c == '+' ? '-' : c == '/' ? '_' : c;
  return text;
}

}  // namespace hone
