// Compiles hone's kernels before a first run needs them.
#pragma once

#include <string>
#include <vector>

#include "base/core/error.h"

namespace hone::cuda {

// Compiles all kernels for each architecture into the folder where runs look for them
// (KernelCompiler::kernels_for). An architecture is a name such as "sm_90a". "here" stands for the architectures of
// this machine's GPUs, if it has any. Returns the names of the architectures. Errors: H1342 the driver fails, H1343
// NVRTC is missing or fails; errors of writing the folder.
Result<std::vector<std::string>> prepare_kernels(const std::vector<std::string>& architectures);

}  // namespace hone::cuda
