// Other programs' names for settings, to suggest hone's.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace hone {

// The member of `known` that other programs call `name`, with '_' between words; "": none.
std::string meant_by(std::string_view name, const std::vector<std::string>& known);

}  // namespace hone
