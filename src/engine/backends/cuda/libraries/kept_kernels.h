// Compiled kernels in a folder: files <hash>.kernels, each a line of names and a cubin. A file is
// written whole and never changed, so several processes may use the folder.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "base/core/error.h"

namespace hone::cuda {

// Kernels in a cubin, as cuModuleLoadData takes it.
struct KernelModule {
  std::vector<std::string> kernels;  // their names
  std::string cubin;
};

// The modules of the folder that have kernels of these names; takes from `names` what they have.
// A folder that is missing, and a file that is cut, have none.
std::vector<KernelModule> kept_kernels(const std::string& folder, std::set<std::string>& names);

// Writes a module into the folder, which it makes.
Status keep_kernels(const std::string& folder, const KernelModule& module);
// The same for a module of all kernels there are.
Status keep_all_kernels(const std::string& folder, const KernelModule& module);
bool has_all_kernels(const std::string& folder);

}  // namespace hone::cuda
