// Programs as CUDA graphs: a run is one call of the driver.
#pragma once

#include "engine/backends/cuda/device.h"
#include "engine/device/executable.h"

namespace hone::cuda {

// Wraps a node list of `programs` programs. The first run of a program runs `list` directly, so that
// libraries and the driver allocate what they need, then records the list as a CUDA graph. Later runs
// launch the graph. A run with a NodeWatch uses the list, and waits for each node. If the driver cannot
// make a graph, all runs use the list and a warning says so.
std::unique_ptr<Executable> make_graphs(CudaDevice& device, std::unique_ptr<Executable> list,
                                        size_t programs);

}  // namespace hone::cuda
