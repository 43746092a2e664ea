// Kernels of the collectives (engine/ops/collective_parts.h) for devices whose memory is the host's. They exchange
// messages by the device's Group (comm/group.h) and add in the order of ranks.
#pragma once

#include "engine/device/backend.h"

namespace hone {

// The kernel of a node. It uses the group of `device`, and gives a failure to Device::keep_failure(). `device` may
// be null if the kernel is never run. A node whose ranks do not match the device's group is a Bug; without a group
// there is one rank.
Kernel rank_kernel(const NodeView& n, Device* device);
// The id and the scratch bytes of that kernel. The time of this call does not grow with the size of the tensors.
Choice rank_choice(const NodeView& n);

}  // namespace hone
