// Characters of UTF-8.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string_view>

namespace hone {

// The first byte of each counts.
inline int64_t count_characters(std::string_view text) {
  return std::count_if(text.begin(), text.end(),
                       [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; });
}

}  // namespace hone
