// Loads NVIDIA's libraries at run time, so that hone is built without them.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/core/module.h"

namespace hone::cuda {

// Loads a library for the life of the process: the file that the environment variable `variable` names, else
// the first of `names` that the system's loader finds. Names such as "lib.so.13" with a major version above
// `newest_major` are skipped (0: no name is skipped), because a driver for CUDA 12 cannot run a library of CUDA 13.
// Returns nothing if none can be loaded; `why` is then set to the reason.
std::optional<Module> load_library(const char* variable, std::span<const char* const> names,
                                   int newest_major, std::string& why);
// Loads the files in the folder of `library` whose names begin with `prefix`. `library` later opens these files
// by name alone. Under a sanitizer, which replaces dlopen(), it finds them only if they are already loaded.
void load_beside(const Module& library, std::string_view prefix);

}  // namespace hone::cuda
