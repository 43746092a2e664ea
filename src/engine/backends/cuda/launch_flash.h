// Launches of attention on tensor cores with operands in bf16 or f16 (kernels/flash_attention.cuh).
#pragma once

#include "engine/backends/cuda/attention_launch.h"

namespace hone::cuda {

// Whether these kernels support the node on a GPU that has tensor cores.
bool is_for_flash(const AttentionLaunch& d);
// The launches of attention and of attention_grad. by_warp_groups: four warps multiply together (wgmma of sm_90a).
// kDeclined (H1401): the gradient has attribute `sums`, and queries and keys have different numbers of tiles.
Launches flash_forward(const NodeView& n, const AttentionLaunch& d, bool by_warp_groups);
Result<Launches> flash_gradient(const NodeView& n, const AttentionLaunch& d, bool by_warp_groups);

}  // namespace hone::cuda
