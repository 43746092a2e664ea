// --color auto|always|never, which every command takes anywhere among its words.
#pragma once

#include <string>
#include <vector>

#include "base/core/error.h"

namespace hone {

// Takes the flag out of the words before "--", and uses it, else $HONE_COLOR. Errors: H0203, H0205.
Status take_color(std::vector<std::string>& args);

}  // namespace hone
