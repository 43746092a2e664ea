// Formats counts for messages and for the summary that a run prints before it starts.
#pragma once

#include <cstdint>
#include <string>

namespace hone {

// 1234567 -> "1,234,567"
inline std::string grouped(int64_t n) {
  const std::string digits = std::to_string(n);
  std::string text;
  for (size_t i = 0; i < digits.size(); ++i) {
    if (i > 0 && (digits.size() - i) % 3 == 0) text += ',';
    text += digits[i];
  }
  return text;
}

// "1 row", "1,234 rows"
inline std::string count_of(int64_t n, const std::string& noun) {
  return grouped(n) + " " + noun + (n == 1 ? "" : "s");
}

}  // namespace hone
