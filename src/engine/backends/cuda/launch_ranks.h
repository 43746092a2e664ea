// Collectives (engine/ops/collective_parts.h) on GPUs: messages by NCCL, and sums in the order of ranks by a kernel,
// with the bits of the host's (engine/device/rank_kernels.h).
#pragma once

#include <string>

#include "engine/backends/cuda/rank_comm.h"
#include "engine/device/backend.h"

namespace hone::cuda {

inline bool is_collective(const NodeView& n) { return n.node.op->traffic != nullptr; }
// Whether it exchanges messages.
bool joins_ranks(const NodeView& n);

Choice gpu_rank_choice(const NodeView& n);
// The kernel of its sums, or "".
std::string rank_sum_kernel(const NodeView& n);
// `comm`: null for nodes of one rank; `sum`: the kernel of rank_sum_kernel(). Both outlive the kernel.
Kernel gpu_rank_kernel(const NodeView& n, CudaDevice& device, RankComm* comm, CUfunction sum);

}  // namespace hone::cuda
