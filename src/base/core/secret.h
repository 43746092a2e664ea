// Comparison of secrets.
#pragma once

#include <string_view>

namespace hone {

// Takes the same time for all texts of one length, wherever they differ.
bool equal_secrets(std::string_view a, std::string_view b);

}  // namespace hone
