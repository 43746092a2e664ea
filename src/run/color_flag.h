// The flag --color auto|always|never, which may be anywhere among the words of every command.
#pragma once

#include <string>
#include <vector>

#include "base/core/error.h"

namespace hone {

// Removes the flag from the words before "--", and turns colours (base/core/color.h) on or off. If the flag is missing,
// the variable HONE_COLOR decides. Errors: H0203 the value is not one of the three words, H0205 the flag has no value.
Status take_color(std::vector<std::string>& args);

}  // namespace hone
