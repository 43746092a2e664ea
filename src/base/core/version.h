// The version of this build of hone.
#pragma once
#include <string_view>

namespace hone {

std::string_view version();  // "0.1.0"

}  // namespace hone
