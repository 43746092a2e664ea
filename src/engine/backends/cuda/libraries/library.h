// Libraries of NVIDIA that are loaded where they are, so that hone is built without them.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/core/module.h"

namespace hone::cuda {

// Loads a library for the life of the process: the file that the environment variable names, else
// the first of `names` that the system's loader finds. Major versions above `newest_major` are
// skipped (0: none), because a driver for CUDA 12 cannot run a library of CUDA 13. If none is
// found, `why` has the reason.
std::optional<Module> load_library(const char* variable, std::span<const char* const> names,
                                   int newest_major, std::string& why);
// Loads the files in the library's folder whose names begin with `prefix`. A library opens such
// files by name alone, and finds them in its own folder only if its dlopen() is called directly,
// not through a sanitizer.
void load_beside(const Module& library, std::string_view prefix);

}  // namespace hone::cuda
