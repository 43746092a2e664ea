// Kernels of collectives (engine/ops/collective_parts.h) on GPUs. NCCL sends the messages, and a kernel adds in the
// order of the ranks. The results have the same bits as those on the CPU (engine/device/rank_kernels.h).
#pragma once

#include <string>

#include "engine/backends/cuda/rank_comm.h"
#include "engine/device/backend.h"

namespace hone::cuda {

inline bool is_collective(const NodeView& n) { return n.node.op->traffic != nullptr; }
// Whether the node is a collective of more than one rank, which exchanges messages.
bool joins_ranks(const NodeView& n);

// Backend::choose() for a collective.
Choice gpu_rank_choice(const NodeView& n);
// The name of the kernel that adds the ranks' parts; "": the collective adds nothing.
std::string rank_sum_kernel(const NodeView& n);
// Makes the kernel of a collective. comm: null for one rank. sum: the loaded kernel of rank_sum_kernel(); null if that
// name is "". `comm` and `sum` must outlive the result.
Kernel gpu_rank_kernel(const NodeView& n, CudaDevice& device, RankComm* comm, CUfunction sum);

}  // namespace hone::cuda
