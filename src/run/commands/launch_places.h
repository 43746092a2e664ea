// Places the ranks that the settings of hone launch request: on hosts of a hostfile, or on machines that
// each start a launcher.
#pragma once

#include <string>

#include "operate/launch/launch.h"
#include "run/commands/launch_settings.h"

namespace hone {

// Sets the numbers of ranks, and the hosts; chosen slots of this machine become CUDA_VISIBLE_DEVICES.
// Errors: H3181 the numbers do not fit, H3184, H0003 the hostfile cannot be read.
Status place_ranks(const LaunchSettings& settings, LaunchRequest& request);

// Several machines with a launcher each find each other by an address, a port and a token. Error H3181.
Status check_machines(const LaunchSettings& settings, const std::string& token);

}  // namespace hone
