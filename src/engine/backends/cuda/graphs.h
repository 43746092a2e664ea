// Programs as CUDA graphs: a run is one call of the driver.
#pragma once

#include "engine/backends/cuda/device.h"
#include "engine/device/executable.h"

namespace hone::cuda {

// Runs `list` as it is the first time, so that libraries load what they need, and notes a second run of it
// as a graph, which is all later runs. A watched run is always the list's, and waits for each node. What the driver needs for graphs
// is taken in the first run.
std::unique_ptr<Executable> make_graphs(CudaDevice& device, std::unique_ptr<Executable> list,
                                        size_t programs);

}  // namespace hone::cuda
