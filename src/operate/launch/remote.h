// Shared parts of the launchers that start ranks on other hosts through another program, such as ssh or mpirun.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/core/error.h"
#include "operate/launch/launch.h"

namespace hone {

// The numeric address of this host on the network interface that leads to `host`. Error H3181: the name is unknown, or
// there is no route to it.
Result<std::string> address_towards(const std::string& host);

// The environment variables that all ranks of a membership share: HONE_RANKS_EPOCH, and if they are set
// HONE_RANKS_FULL, HONE_RUN_ID and HONE_RUN_MEMORY.
std::map<std::string, std::string> run_variables(const LaunchRequest& request);
// run_variables() and the place of the control plane, for ranks that get their numbers from another program.
std::map<std::string, std::string> control_variables(const LaunchRequest& request,
                                                     const std::string& address, int port);
// Whether this is an address or a name of this host.
bool is_own_address(const std::string& host);

// The hosts with their numbers of slots: "a:2,b:4".
std::string host_list(const std::vector<HostSlots>& hosts);
int slots_of(const std::vector<HostSlots>& hosts);  // number of slots of all hosts together

}  // namespace hone
