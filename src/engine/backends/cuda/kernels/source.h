// The source of all kernels as one text for NVRTC.
#pragma once

#include <string_view>

namespace hone::cuda {

// CUDA C++, with all headers included. It lives as long as the process.
std::string_view kernel_source();

}  // namespace hone::cuda
