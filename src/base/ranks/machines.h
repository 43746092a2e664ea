// For runs over several machines, with a launcher on each machine. One launcher serves the control plane. Each other
// launcher asks the control plane which ranks to start in the next membership (World::epoch).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/ranks/world.h"

namespace hone {

class FrameConnection;

// The request of a launcher.
struct MachineRequest {
  int machine = -1;       // the number of its machine in the run; -1: any
  int slots = 1;          // the number of ranks that it can start
  std::string host = {};  // the name of its host
};
// A launcher that waits for the answer.
struct WaitingMachine {
  int64_t connection = 0;
  MachineRequest request = {};
};
// The answer: the ranks that the launcher starts in the next membership.
struct MachinePlace {
  int64_t connection = 0;  // the connection of the request, on the server
  int machine = 0;         // the number of the machine
  int64_t epoch = 1;       // the number of the membership
  // ranks: the number of ranks in the membership. full_ranks: the number when no machine is missing. first_rank: the
  // number of this machine's first rank; its other ranks have the numbers after it.
  int ranks = 1, full_ranks = 1, first_rank = 0;
  bool over = false;  // true: there is no place, because the run has ended
  int status = 0;     // if `over`: the exit status of the run
  // On the launcher: its connection to the server. If the connection ends before all ranks of the machine have joined,
  // a rank that is missing counts as lost.
  std::shared_ptr<FrameConnection> held = {};
};

// Sends the request `mine` to the control plane at World::address and World::port of `at`, and waits for the next
// membership or the end of the run. Calls `stops` repeatedly; if it returns true, ask_place() returns nullopt. Errors:
// H0125 the control plane cannot be reached within `patience_s` seconds, or the connection to it was lost; H0123 the
// token is not that of the run.
Result<std::optional<MachinePlace>> ask_place(const World& at, const std::string& token,
                                              const MachineRequest& mine, double patience_s,
                                              const std::function<bool()>& stops);
// Tells the server that the ranks of the place have ended.
void leave_place(MachinePlace& place);

}  // namespace hone
