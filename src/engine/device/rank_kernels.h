// Kernels of the collectives (engine/ops/collective_parts.h) for devices whose memory is the host's:
// messages of the device's Group, and sums in the order of ranks.
#pragma once

#include "engine/device/backend.h"

namespace hone {

// `device`: the one whose group exchanges the messages and which keeps a failure; null for a kernel
// that is never run. A node for other ranks than the device's group is a Bug; without a group there
// is one rank.
Kernel rank_kernel(const NodeView& n, Device* device);
// Its id and its scratch alone, in a time that does not grow with the bytes.
Choice rank_choice(const NodeView& n);

}  // namespace hone
