// Counts the characters of a UTF-8 text.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string_view>

namespace hone {

// The number of code points. Counts the bytes that begin a code point. Does not check that the text is UTF-8.
inline int64_t count_characters(std::string_view text) {
  return std::count_if(text.begin(), text.end(),
                       [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; });
}

}  // namespace hone
