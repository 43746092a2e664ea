// The machines of a run with a launcher on each: a launcher asks the one that serves the control plane for
// the place of its ranks in the next membership.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/ranks/world.h"

namespace hone {

class FrameConnection;

// A launcher that asks.
struct MachineRequest {
  int machine = -1;  // its number; -1: any
  int slots = 1;     // ranks that it starts
  std::string host = {};
};
struct WaitingMachine {
  int64_t connection = 0;
  MachineRequest request = {};
};
// The answer.
struct MachinePlace {
  int64_t connection = 0;
  int machine = 0;
  int64_t epoch = 1;
  int ranks = 1, full_ranks = 1, first_rank = 0;
  bool over = false;  // instead: the run has ended
  int status = 0;     // with this exit status
  // The connection of the launcher that asked: if it ends before its ranks have joined, they are lost.
  std::shared_ptr<FrameConnection> held = {};
};

// Waits for the next membership of the run that is served at the address and port of `at`, or for the end
// of the run; none: `stops` returned true. Errors: H0125 the control plane cannot be reached within
// `patience_s`, or is gone; H0123 the token is not that of the run.
Result<std::optional<MachinePlace>> ask_place(const World& at, const std::string& token,
                                              const MachineRequest& mine, double patience_s,
                                              const std::function<bool()>& stops);
// Says that the ranks of the place have ended.
void leave_place(MachinePlace& place);

}  // namespace hone
