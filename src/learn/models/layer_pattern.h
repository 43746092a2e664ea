// Patterns for names of layers, in Python's regular expressions as PEFT and Transformers read them:
// lookbehind, named groups, inline flags, \Z.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace hone {

// Whether re.fullmatch(pattern, name) finds a match; false for a pattern that is not valid.
bool matches_layer(const std::string& pattern, std::string_view name);
// Whether `end` is the name, or its last parts between dots.
bool ends_in_layer(std::string_view name, std::string_view end);
// The fault of an invalid pattern, with the part where it fails; none: it is valid.
std::optional<std::string> fault_of_pattern(const std::string& pattern);

}  // namespace hone
