// Parts of launchers that start ranks through another program, which starts them on other hosts.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/core/error.h"
#include "operate/launch/launch.h"

namespace hone {

// The address of this host that `host` reaches: of the interface on the way there. Error H3181: the name is
// unknown, or there is no way.
Result<std::string> address_towards(const std::string& host);

// Variables of the run in the present membership.
std::map<std::string, std::string> run_variables(const LaunchRequest& request);
// Variables of ranks whose numbers another launcher gives them.
std::map<std::string, std::string> control_variables(const LaunchRequest& request,
                                                     const std::string& address, int port);
// Whether this is an address or a name of this host.
bool is_own_address(const std::string& host);

// "a:2,b:4".
std::string host_list(const std::vector<HostSlots>& hosts);
int slots_of(const std::vector<HostSlots>& hosts);  // in all

}  // namespace hone
