// Where states go for which the host's memory has no room: --offload_optimizer_device cpu needs more
// than --host_memory may hold. The first weights of a model fill the host, the next stay on the
// device as far as it has room, and the others are on disk. A weight and what the optimizer keeps of
// it are in one place. No result changes.
#pragma once

#include <limits>
#include <map>

#include "engine/passes/pipelines.h"
#include "engine/plan/plan.h"

namespace hone {

// Bytes of states that would be on the host: those that may be there, and those that may stay on the
// device instead.
struct HostRoom {
  int64_t host = std::numeric_limits<int64_t>::max();
  int64_t device = 0;
  bool all() const { return host == std::numeric_limits<int64_t>::max(); }
};

// `update`: the program with all weights and states of the optimizer, before its passes.
std::map<std::string, Space> homes_beside_host(const Program& update, const TrainPasses& how,
                                               const HostRoom& room);

// "the host has no room for 11.6 GiB of states: 6.3 GiB stay on the device, 5.3 GiB are on disk"; ""
// where all are where they were asked to be.
std::string full_host_text(const RunPlan& plan, Offload asked);

}  // namespace hone
