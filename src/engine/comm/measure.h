// Speed of the messages between the ranks of a group.
#pragma once

#include <vector>

#include "base/core/clock.h"
#include "engine/comm/group.h"

namespace hone {

struct PeerSpeed {
  double small_s = 0;      // an exchange of 8 bytes in both directions: the median
  double block_s = 0;      // an exchange of 64 KiB
  double bytes_per_s = 0;  // in each direction, in exchanges of 4 MiB
};
struct GroupSpeed {
  std::vector<PeerSpeed> peers;  // by rank; zeros for this rank itself
  double all_reduce_s = 0;       // of all_reduce_bytes f32 bytes on all ranks
  int64_t all_reduce_bytes = 0;
};

// Every rank calls it. Pairs of ranks take turns, so that no two of a rank's exchanges run at the
// same time. Takes about a second on a network of 1 GB/s.
Result<GroupSpeed> measure_group(Group& group, Clock& clock = system_clock());

}  // namespace hone
