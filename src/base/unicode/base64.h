// Base64 with the standard alphabet of RFC 4648.
#pragma once

#include <string>
#include <string_view>

namespace hone {

// Replaces `out` by the bytes of a base64 text, with or without padding "=". Returns false if the text is empty or not
// base64 (blanks and line breaks are not allowed); `out` is then unspecified.
bool decode_base64(std::string_view in, std::string& out);
std::string encode_base64(std::string_view bytes);  // with padding, without line breaks

}  // namespace hone
