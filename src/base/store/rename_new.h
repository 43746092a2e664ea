// Renames a file unless the new name exists.
#pragma once

#include <string>

#include "base/store/disk.h"

namespace hone {

// Returns 0, -EEXIST if `to` exists, or another -errno. On machine_disk() the check and the rename are one step: if
// several processes, also on several hosts, rename to the same name, exactly one succeeds.
int64_t rename_new(Disk& disk, const std::string& from, const std::string& to);

}  // namespace hone
