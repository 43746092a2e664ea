// Chooses places for states if the host's memory is too small for them: --offload_optimizer_device
// cpu needs more than --host_memory allows. The first weights of a model fill the host, the next
// stay on the device while it has room, the others are on disk. A weight and its optimizer states
// are in one place. Results do not change.
#pragma once

#include <limits>
#include <map>

#include "engine/passes/pipelines.h"
#include "engine/plan/plan.h"

namespace hone {

// Bytes of offloaded state that the host may hold, and that may stay on the device instead.
struct HostRoom {
  int64_t host = std::numeric_limits<int64_t>::max();
  int64_t device = 0;
  bool all() const { return host == std::numeric_limits<int64_t>::max(); }
  bool operator==(const HostRoom&) const = default;
};

// `update`: the program with all weights and optimizer states, before its passes.
std::map<std::string, Space> homes_beside_host(const Program& update, const TrainPasses& how,
                                               const HostRoom& room);

// "the host has no room for 11.6 GiB of states: 6.3 GiB stay on the device, 5.3 GiB are on disk";
// "" if all states are in the requested place.
std::string full_host_text(const RunPlan& plan, Offload asked);

}  // namespace hone
