// Compiles hone's kernels before a first run needs them.
#pragma once

#include <string>
#include <vector>

#include "base/core/error.h"

namespace hone::cuda {

// All kernels for each architecture ("sm_90"; "here": those of this machine's GPUs, which may be none),
// into the folder where runs look for them (KernelCompiler::kernels_for). Returns the architectures. Errors
// H1342, H1343.
Result<std::vector<std::string>> prepare_kernels(const std::vector<std::string>& architectures);

}  // namespace hone::cuda
