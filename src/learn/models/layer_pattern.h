// Matches names of layers with Python's regular expressions, as PEFT and Transformers do; lookbehind, named groups,
// inline flags and \Z are supported.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace hone {

// Whether Python's re.fullmatch(pattern, name) would match; false if the pattern is not valid.
bool matches_layer(const std::string& pattern, std::string_view name);
// Whether `end` is the whole name or its last dotted parts: "self_attn.q_proj" is the end of
// "layers.0.self_attn.q_proj".
bool ends_in_layer(std::string_view name, std::string_view end);
// The fault of the pattern, and the part in which it is; none: the pattern is valid.
std::optional<std::string> fault_of_pattern(const std::string& pattern);

}  // namespace hone
