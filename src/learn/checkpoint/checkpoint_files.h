// The files of a checkpoint and of the folders in it.
#pragma once

#include <string>
#include <vector>

#include "base/store/store.h"

namespace hone {

// By name; those of a folder as "1_Pooling/config.json". Errors: those of the store.
Result<std::vector<Store::Entry>> checkpoint_files(const std::string& path, Store& store);
// Whether a manifest may name the file: parts without "." and "..", none of them empty.
bool is_checkpoint_file(const std::string& name);

}  // namespace hone
