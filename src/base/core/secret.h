// Compares secrets without a timing leak.
#pragma once

#include <string_view>

namespace hone {

// Returns true if a and b are equal. For texts of equal length the time does not depend on where they differ.
bool equal_secrets(std::string_view a, std::string_view b);

}  // namespace hone
