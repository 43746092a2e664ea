// Other programs' names for settings, to suggest hone's.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace hone {

// The one of `known` that has the name `name`, with '_' between words, elsewhere; "": none.
std::string meant_by(std::string_view name, const std::vector<std::string>& known);

}  // namespace hone
