#include "base/core/secret.h"

#include <openssl/crypto.h>

namespace hone {

bool equal_secrets(std::string_view a, std::string_view b) {
  return a.size() == b.size() && CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

}  // namespace hone
