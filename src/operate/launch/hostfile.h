// Hosts and their slots, from the files and flags of MPI and DeepSpeed.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/core/error.h"

namespace hone {

struct HostSlots {
  std::string host = {};
  std::vector<int> slots = {};  // numbers of the host's devices, one for each rank, from 0
  bool chosen = false;          // choose_slots() selected some of the host's slots
};

// Parses the text of a hostfile: one host a line, as in "worker-1 slots=8". A host without "slots=" has one slot. '#'
// begins a comment. `name` is the file's name for errors. Error H3184: a line has another form, a host appears twice,
// or the text names no host.
Result<std::vector<HostSlots>> parse_hostfile(std::string_view text, const std::string& name);

// Keeps the hosts and slots that `include` names, in the order of `include`, or removes those that `exclude` names.
// Both have the form of DeepSpeed's --include: "a@b:0,2" is all of host a, and the slots 0 and 2 of host b. Both "":
// all hosts stay. Error H3184: a text is malformed, a host or slot is not among `hosts`, nothing is left, or both are
// given.
Result<std::vector<HostSlots>> choose_slots(std::vector<HostSlots> hosts,
                                            const std::string& include, const std::string& exclude);

// Keeps the first `most_hosts` hosts, and the first `most_slots` slots of each. 0: all. Error H3184: there are fewer
// hosts, or a host has fewer slots.
Result<std::vector<HostSlots>> first_slots(std::vector<HostSlots> hosts, int most_hosts,
                                           int most_slots);

}  // namespace hone
