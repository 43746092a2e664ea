// Base64 (RFC 4648), with or without padding.
#pragma once

#include <string>
#include <string_view>

namespace hone {

bool decode_base64(std::string_view in, std::string& out);  // false: not base64, or empty
std::string encode_base64(std::string_view bytes);

}  // namespace hone
