// Parses numbers in the text of a cell.
#pragma once

#include <charconv>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string_view>

namespace hone {

// The number that the text spells, in the form that std::from_chars reads. None if the text is not completely a number
// (white space around the number is not accepted), or if the number does not fit T.
template <class T>
std::optional<T> parsed(std::string_view text) {
  T value{};
  const char* end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || stopped != end) return {};
  return value;
}

// As parsed<double>, but none for "nan" and "inf", which may be words.
inline std::optional<double> parsed_finite(std::string_view text) {
  const std::optional<double> value = parsed<double>(text);
  return value && std::isfinite(*value) ? value : std::nullopt;
}

}  // namespace hone
