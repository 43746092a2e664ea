// NVIDIA's GPUs by their driver, and whether kernels can be compiled for them, for `hone doctor`.
#pragma once

#include "base/core/probe.h"

namespace hone::cuda {

Probe probe_gpus();

}  // namespace hone::cuda
