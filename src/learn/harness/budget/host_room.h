// Chooses a memory space for each state that is offloaded to the host, if the host's memory is too small for all of
// them, such as when --offload_optimizer_device cpu needs more than --host_memory allows. Goes through the weights in
// the model's order and keeps all offloaded states of a weight together: in the host's memory if they fit into the room
// left there, else on the device if they fit into the room left there, else on disk. The choice does not change
// results.
#pragma once

#include <limits>
#include <map>

#include "engine/passes/pipelines.h"
#include "engine/plan/plan.h"

namespace hone {

// Limits for offloaded states, in bytes.
struct HostRoom {
  int64_t host = std::numeric_limits<int64_t>::max();  // in the host's memory; default: no limit
  int64_t device = 0;  // on the device, for states that the host has no room for
  // True: the host has no limit.
  bool all() const { return host == std::numeric_limits<int64_t>::max(); }
  bool operator==(const HostRoom&) const = default;
};

// The space of each state that does not fit into the host's memory, by the state's name: device or disk. States
// without an entry keep the space that `how.offload` gives them. `update`: the update program with all weights and
// optimizer states, before any pass.
std::map<std::string, Space> homes_beside_host(const Program& update, const TrainPasses& how,
                                               const HostRoom& room);

// "the host has no room for 11.6 GiB of states: 6.3 GiB stay on the device, 5.3 GiB are on disk";
// "" if all states are in the space that `asked` gives them.
std::string full_host_text(const RunPlan& plan, Offload asked);

}  // namespace hone
