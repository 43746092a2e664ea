// The source of all kernels as one text for NVRTC.
#pragma once

#include <string_view>

namespace hone::cuda {

std::string_view kernel_source();

}  // namespace hone::cuda
