// Predicts the time of nodes and programs on a device, from the costs of ops and the speeds of the device. Times are in
// seconds.
#pragma once

#include "engine/graph/op.h"

namespace hone {

class OpSpeeds;

// The speeds of a device. 0: unknown; work of an unknown speed then takes no time.
struct Speeds {
  // FLOPs a second of a large matrix product. The operands have, or are rounded to, the type in the member's name.
  double f32_flops = 0, bf16_flops = 0, f16_flops = 0;
  double bytes_per_second = 0;  // bytes read and written in the device's memory
  // Bytes a second that are copied in one direction.
  double host_bytes_per_second = 0;  // between the device's memory and the host's
  double peer_bytes_per_second = 0;  // to another device of the same kind in the machine
  double disk_read_bytes_per_second = 0, disk_write_bytes_per_second = 0;
  // Bytes a second that kernels on the lane host_compute read and write in the host's memory. 0: such a kernel has the
  // speed of the device.
  double host_memory_bytes_per_second = 0;
  // Collectives: the bytes that a rank sends a second, and the seconds before a collective starts to send.
  double link_bytes_per_second = 0, link_seconds = 0;
  double node_seconds = 0;  // seconds that each node takes before its kernel starts
  // Measured speeds by kind of node; must outlive this object. They replace the *_flops and bytes_per_second. Null:
  // there are no measured speeds.
  const OpSpeeds* ops = nullptr;
};

// Speeds with which nodes are compared if the device's speeds are unknown. On a typical CPU ten operations take as long
// as moving a byte, and a disk is far slower.
inline constexpr Speeds kTypicalCpu{.f32_flops = 1e11,
                                    .bf16_flops = 1e11,
                                    .f16_flops = 1e11,
                                    .bytes_per_second = 1e10,
                                    .host_bytes_per_second = 5e9,
                                    .disk_read_bytes_per_second = 1e9,
                                    .disk_write_bytes_per_second = 5e8};

// The time of a node by speeds.ops. If that is null: a lower bound, the longer of the node's arithmetic and its memory
// traffic. node_seconds is not counted.
double seconds_of(const NodeView& n, const Speeds& speeds);
// The sum over all nodes of the program.
double seconds_of(const Program& p, const Speeds& speeds);

// The bytes that the collectives of a program send from this rank.
int64_t traffic_of(const Program& p);

// The time of a program whose copies, collectives and host kernels run in parallel with the device's kernels. Each lane
// runs its nodes in order. A node of another lane starts when the compute lane has reached the node and the other lane
// is free; at a wait the compute lane waits for that node. All collectives use one link (link_bytes_per_second);
// link_time.h has two kinds of links.
double run_seconds(const Program& p, const Speeds& speeds);

}  // namespace hone
