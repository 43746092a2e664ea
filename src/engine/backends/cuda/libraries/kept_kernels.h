// A cache folder of compiled kernels. Its files are <hash>.kernels and all.kernels. Each has a line with the
// names of its kernels, then a cubin. Files are written atomically and never changed, so several processes may
// use the folder.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "base/core/error.h"

namespace hone::cuda {

// Kernels in one compiled binary.
struct KernelModule {
  std::vector<std::string> kernels;  // their names
  std::string cubin;                 // the binary that cuModuleLoadData takes
};

// Reads the modules that contain kernels of these names, and erases the names that it found from `names`. A missing
// folder and incomplete files count as empty.
std::vector<KernelModule> kept_kernels(const std::string& folder, std::set<std::string>& names);

// Writes a module into the folder, which is created if it is missing. Errors: those of the file system.
Status keep_kernels(const std::string& folder, const KernelModule& module);
// Writes a module that contains all of hone's kernels; has_all_kernels() is true afterwards.
Status keep_all_kernels(const std::string& folder, const KernelModule& module);
bool has_all_kernels(const std::string& folder);

}  // namespace hone::cuda
