// Permissions of files that other users of the machine must not read, such as logs.
#pragma once

#include <string>

#include "base/core/error.h"

namespace hone {

inline constexpr int kPrivateFile = 0640;  // the mode for open(2) with O_CREAT

// Removes the permissions of "others" (neither owner nor group) from a file or folder of this machine. Does nothing for
// a URL or a path that does not exist.
void close_to_others(const std::string& path);
// Makes the folder of a run, and its parents. A new folder of this machine is closed to others; an existing folder
// keeps its permissions. Errors: those of file_store().
Status make_run_folder(const std::string& path);

}  // namespace hone
