// Message authentication codes, digests and signatures for credentials, computed by OpenSSL.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "base/store/hash.h"

namespace hone {

// HMAC with SHA-256 (RFC 2104, FIPS 180-4): 32 raw bytes.
std::string hmac_sha256(std::string_view key, std::string_view text);
std::string md5(std::span<const std::byte> bytes);  // 16 raw bytes

// Signs `text` with RSASSA-PKCS1-v1_5 and SHA-256 (RS256 of RFC 7518). `pem` is the private key. Returns the raw bytes
// of the signature. Error H0119 if the key is not an RSA key in PEM; `where` is the place in the message.
Result<std::string> sign_rs256(const std::string& pem, std::string_view text,
                               const std::string& where);

// Encodes bytes in the URL-safe alphabet of base64, without padding (RFC 4648, section 5).
std::string base64_url(std::string_view bytes);

}  // namespace hone
