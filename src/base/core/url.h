// Tells URLs from paths of files.
#pragma once

#include <string_view>

namespace hone {

// Returns true if the text has "://".
inline bool is_url(std::string_view path) { return path.find("://") != path.npos; }

}  // namespace hone
