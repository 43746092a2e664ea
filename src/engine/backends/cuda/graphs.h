// Programs as CUDA graphs: a run is one call of the driver.
#pragma once

#include "engine/backends/cuda/device.h"
#include "engine/device/executable.h"

namespace hone::cuda {

// Wraps `list`, an Executable of `programs` programs that runs their nodes one by one. The first run of a
// program runs `list` directly, so that libraries and the driver allocate what they need. Then the nodes
// are recorded as a CUDA graph, and later runs launch the graph. A run with a NodeWatch uses `list`, and
// waits for each node. If the driver cannot make a graph, all runs use `list`, and a warning is logged.
std::unique_ptr<Executable> make_graphs(CudaDevice& device, std::unique_ptr<Executable> list,
                                        size_t programs);

}  // namespace hone::cuda
