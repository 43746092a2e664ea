// The source of all kernels as one text for NVRTC.
#pragma once

#include <string_view>

namespace hone::cuda {

// The text is CUDA C++ in which all headers are already included. It lives as long as the process.
std::string_view kernel_source();

}  // namespace hone::cuda
