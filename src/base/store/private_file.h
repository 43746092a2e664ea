// Files that may hold what others must not read: logs, events, states.
#pragma once

#include <string>

namespace hone {

inline constexpr int kPrivateFile = 0640;  // the mode of such a file, where it is made directly

// Removes other users' permissions from a file or folder of this machine. Does nothing to a URL or a missing path.
void close_to_others(const std::string& path);

}  // namespace hone
