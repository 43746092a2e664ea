// Attention on tensor cores with operands in 16 bits.
#pragma once

#include "engine/backends/cuda/attention_launch.h"

namespace hone::cuda {

// Whether kernels of flash_attention.cuh take it, on tensor cores.
bool is_for_flash(const AttentionLaunch& d);
Launches flash_forward(const NodeView& n, const AttentionLaunch& d, bool by_warp_groups);
Result<Launches> flash_gradient(const NodeView& n, const AttentionLaunch& d, bool by_warp_groups);

}  // namespace hone::cuda
