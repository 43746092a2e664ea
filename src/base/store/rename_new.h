// Renames a file if the new name is free.
#pragma once

#include <string>

#include "base/store/disk.h"

namespace hone {

// 0, or -errno; -EEXIST if `to` exists. On the machine's disk this is one step: of several processes,
// also on several hosts, one wins.
int64_t rename_new(Disk& disk, const std::string& from, const std::string& to);

}  // namespace hone
