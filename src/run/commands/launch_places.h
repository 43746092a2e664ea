// Decides where hone launch starts the requested ranks (processes that train together): on the hosts of a hostfile, on
// this machine, or on several machines, each of which runs its own launcher.
#pragma once

#include <string>

#include "operate/launch/launch.h"
#include "run/commands/launch_settings.h"

namespace hone {

// Sets in `request` the numbers of ranks and machines, and the hosts. If the settings choose only some slots (GPUs) of
// this machine, sets the environment variable CUDA_VISIBLE_DEVICES to them. Errors: H3181 the numbers contradict each
// other, H3184 the hostfile cannot be used, H0003 the hostfile cannot be read.
Status place_ranks(const LaunchSettings& settings, LaunchRequest& request);

// Checks the settings by which several machines, each with its own launcher, find each other: an address, a port and a
// token. Error H3181 if one of the three is missing, or the number of this machine is too large.
Status check_machines(const LaunchSettings& settings, const std::string& token);

}  // namespace hone
