// Names that other programs have for settings: what is meant where such a name is typed.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace hone {

// The one of `known` that `name`, with '_' between words, means elsewhere; "" when there is none.
std::string meant_by(std::string_view name, const std::vector<std::string>& known);

}  // namespace hone
