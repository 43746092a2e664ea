// Digests and signatures by OpenSSL.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "base/store/hash.h"

namespace hone {

// 32 raw bytes (RFC 2104, FIPS 180-4).
std::string hmac_sha256(std::string_view key, std::string_view text);
std::string md5(std::span<const std::byte> bytes);  // 16 raw bytes

// Signs with RSASSA-PKCS1-v1_5 and SHA-256 (RFC 7518, RS256) by a PEM key; returns the raw
// signature. `where` is for the message of H0119.
Result<std::string> sign_rs256(const std::string& pem, std::string_view text,
                               const std::string& where);

// Base64 for URLs, without padding (RFC 4648 section 5).
std::string base64_url(std::string_view bytes);

}  // namespace hone
