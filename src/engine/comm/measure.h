// Measures the speed of messages between the ranks of a group.
#pragma once

#include <vector>

#include "base/core/clock.h"
#include "engine/comm/group.h"

namespace hone {

// The exchanges of this rank with one other rank. Each exchange sends its bytes in both directions at the same time.
struct PeerSpeed {
  double small_s = 0;      // the median time of an exchange of 8 bytes
  double block_s = 0;      // the median time of an exchange of 64 KiB
  double bytes_per_s = 0;  // bytes a second in each direction, in exchanges of 4 MiB
};
struct GroupSpeed {
  std::vector<PeerSpeed> peers;  // by rank; zeros for this rank itself
  double all_reduce_s = 0;       // the time of an all_reduce of all_reduce_bytes bytes of f32
  int64_t all_reduce_bytes = 0;
};

// Every rank must call it. Pairs of ranks take turns: a rank exchanges messages with one other rank at a time. Takes
// about a second on a network of 1 GB/s. Errors: those of Group::exchange().
Result<GroupSpeed> measure_group(Group& group, Clock& clock = system_clock());

}  // namespace hone
