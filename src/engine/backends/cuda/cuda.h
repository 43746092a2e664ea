// What a run on an NVIDIA GPU would hold: which ops it would compute whole, with how much scratch.
// There are no CUDA kernels here: this plans and cannot compute.
#pragma once

#include "engine/device/backend.h"

namespace hone {

// The fused kernels that cuBLASLt, cuDNN and plain kernels of hone's own offer, with scratch on the
// safe side: for a matrix product the cap of the spec, for gradients that are summed over rows a
// copy for each of many blocks, for the language-model head the same chunk of logits as on the CPU.
Result<Choice> choose_cuda(const NodeView& n, const DeviceSpec& spec);

}  // namespace hone
