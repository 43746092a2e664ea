// Predicts the time of nodes on a device, from the costs of their ops and the speeds of the device.
#pragma once

#include "engine/graph/op.h"

namespace hone {

class OpSpeeds;

// Speeds of a device per second; 0: unknown.
struct Speeds {
  // Floating-point operations of a large matrix product, by its operands.
  double f32_flops = 0, bf16_flops = 0, f16_flops = 0;
  double bytes_per_second = 0;  // read and written in its memory
  // Copies, in one direction; those of an unknown speed are taken for free.
  double host_bytes_per_second = 0;  // between its memory and the host's
  double peer_bytes_per_second = 0;  // to another device of its kind in the machine
  double disk_read_bytes_per_second = 0, disk_write_bytes_per_second = 0;
  // Read and written in the host's memory by kernels on the lane host_compute; 0: the device's.
  double host_memory_bytes_per_second = 0;
  // Between ranks: sent by one of them, and before a collective begins to send.
  double link_bytes_per_second = 0, link_seconds = 0;
  double node_seconds = 0;  // before a node begins
  // Measured speeds by kind of node, which replace the first three; they outlive this object.
  const OpSpeeds* ops = nullptr;
};

// Speeds for choices between nodes if those of the device are unknown: a CPU does about ten
// operations while it moves a byte, and a disk is far slower.
inline constexpr Speeds kTypicalCpu{.f32_flops = 1e11,
                                    .bf16_flops = 1e11,
                                    .f16_flops = 1e11,
                                    .bytes_per_second = 1e10,
                                    .host_bytes_per_second = 5e9,
                                    .disk_read_bytes_per_second = 1e9,
                                    .disk_write_bytes_per_second = 5e8};

// The time of a node, or of all nodes of a program, by the measured speeds of ops; without them the
// least possible: for each node the longer of its arithmetic and its memory traffic.
double seconds_of(const NodeView& n, const Speeds& speeds);
double seconds_of(const Program& p, const Speeds& speeds);

// The bytes that the collectives of a program send from this rank.
int64_t traffic_of(const Program& p);

// The time of a program whose copies and collectives run while it computes. Each lane does its work
// in order. A copy, a collective or a kernel of the host begins when the compute lane has reached it;
// the compute lane waits for the results that it reads.
double run_seconds(const Program& p, const Speeds& speeds);

}  // namespace hone
