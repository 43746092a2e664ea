#include "engine/comm/faults.h"

#include "engine/comm/errors.h"

namespace hone {

Error peer_lost(int self, int peer, std::string_view why) {
  return Error(err::kPeerLost, fmt::format("rank {} lost rank {}: {}", self, peer, why))
      .todo(fmt::format("see the last lines of rank {}; the last checkpoint is unchanged", peer));
}

Error message_differs(int self, int peer, size_t expected, size_t got) {
  return Error(err::kMessageDiffers,
               fmt::format("rank {} waits for a message of {} bytes, and rank {} sends {}", self,
                           expected, peer, got))
      .todo("start every rank with the same program, data and settings");
}

}  // namespace hone
