// Names that other programs have for hone's settings, such as "lr" for learning_rate; for "did you mean ...".
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace hone {

// The element of `known` (names of settings) that other programs call `name`; "": none. `name` has '_' between words.
std::string meant_by(std::string_view name, const std::vector<std::string>& known);

}  // namespace hone
