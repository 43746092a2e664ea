// Files that may hold what others must not read: logs, events, states.
#pragma once

#include <string>

#include "base/core/error.h"

namespace hone {

inline constexpr int kPrivateFile = 0640;  // the mode of such a file, where it is made directly

// Removes other users' permissions from a file or folder of this machine. Does nothing to a URL or a missing path.
void close_to_others(const std::string& path);
// Makes the folder of a run, and its parents. A new one is closed to other users; the permissions
// of one that exists stay.
Status make_run_folder(const std::string& path);

}  // namespace hone
