// How long nodes take on a device, from what their ops say and what the device does in a second.
#pragma once

#include "engine/graph/op.h"

namespace hone {

// What a device does in a second; 0: unknown.
struct Speeds {
  double f32_flops = 0, bf16_flops = 0;  // floating-point operations of a large matrix product
  double bytes_per_second = 0;           // read and written in its memory
};

// For choices between nodes where a device says nothing of itself: a CPU does about ten operations
// while it moves a byte.
inline constexpr Speeds kTypicalCpu{
    .f32_flops = 1e11, .bf16_flops = 1e11, .bytes_per_second = 1e10};

// The least time of a node, or of all nodes of a program: of each node, what takes longer, its
// arithmetic or its memory traffic.
double seconds_of(const NodeView& n, const Speeds& speeds);
double seconds_of(const Program& p, const Speeds& speeds);

}  // namespace hone
