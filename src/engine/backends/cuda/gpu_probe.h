// Lines of `hone doctor` about NVIDIA GPUs: the GPUs that the driver lists, and whether kernels can be compiled for
// them.
#pragma once

#include "base/core/probe.h"

namespace hone::cuda {

Probe probe_gpus();

}  // namespace hone::cuda
