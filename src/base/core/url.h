// Whether a path is a URL.
#pragma once

#include <string_view>

namespace hone {

inline bool is_url(std::string_view path) { return path.find("://") != path.npos; }

}  // namespace hone
