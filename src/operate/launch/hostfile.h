// Hosts and their slots, from the files and flags of MPI and DeepSpeed.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/core/error.h"

namespace hone {

struct HostSlots {
  std::string host = {};
  std::vector<int> slots = {};  // numbers of its devices, one for each rank
  bool chosen = false;          // a flag chose among its slots
};

// Lines "worker-1 slots=8"; a host without slots has one. '#' begins a comment. Error H3184, with
// name:line: a line has another form, a host appears twice, or there is none.
Result<std::vector<HostSlots>> parse_hostfile(std::string_view text, const std::string& name);

// Keeps what DeepSpeed's --include "a@b:0,2" names, or drops what --exclude names; one of both.
// Error H3184: a host or slot is not among `hosts`, nothing is left, or both are given.
Result<std::vector<HostSlots>> choose_slots(std::vector<HostSlots> hosts,
                                            const std::string& include, const std::string& exclude);

// At most this number of hosts, and of slots on each; 0: all. Error H3184: there are fewer.
Result<std::vector<HostSlots>> first_slots(std::vector<HostSlots> hosts, int most_hosts,
                                           int most_slots);

}  // namespace hone
