// Kernels of the collectives (engine/ops/collective_parts.h) for devices whose memory is the host's:
// messages of the device's Group, and sums in the order of ranks.
#pragma once

#include "engine/device/backend.h"

namespace hone {

// The scratch of one collective holds at most this number of received bytes; more come in rounds.
inline constexpr int64_t kRoundBytes = int64_t{8} << 20;

// `device`: the one whose group exchanges the messages and which keeps a failure; null for a choice
// that is never run. A node for other ranks than the device's group is a Bug; without a group there
// is one rank.
Kernel rank_kernel(const NodeView& n, Device* device);

}  // namespace hone
