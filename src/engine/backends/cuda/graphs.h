// Programs as CUDA graphs: a run is one call of the driver.
#pragma once

#include "engine/backends/cuda/device.h"
#include "engine/device/executable.h"

namespace hone::cuda {

// Runs `list` directly the first time, so that libraries and the driver allocate what they need,
// and records a second run as a graph for all later runs. A watched run always uses the list, and
// waits for each node.
std::unique_ptr<Executable> make_graphs(CudaDevice& device, std::unique_ptr<Executable> list,
                                        size_t programs);

}  // namespace hone::cuda
