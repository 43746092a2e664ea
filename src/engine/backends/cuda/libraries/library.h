// Libraries of NVIDIA that are loaded where they are, so that hone is built without them.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/core/module.h"

namespace hone::cuda {

// For the life of the process: the file that the environment variable names, else the first of `names`
// that the system's loader finds, without those of a newer major version (0: any): a driver for CUDA 12 runs
// no library of 13. The reason, where there is none, is in `why`.
std::optional<Module> load_library(const char* variable, std::span<const char* const> names,
                                   int newest_major, std::string& why);
// Loads the files of its folder whose names begin so. For what a library opens by name alone: that finds
// it in the library's own folder only as long as nothing, such as a sanitizer, calls dlopen() for it.
void load_beside(const Module& library, std::string_view prefix);

}  // namespace hone::cuda
