// Decides where the ranks that the settings of hone launch request are started: on the hosts of a hostfile, or on
// several machines, each with its own launcher.
#pragma once

#include <string>

#include "operate/launch/launch.h"
#include "run/commands/launch_settings.h"

namespace hone {

// Sets the numbers of ranks and machines, and the hosts, of `request`. If only some slots (GPUs) of this machine are
// chosen, sets the environment variable CUDA_VISIBLE_DEVICES to them. Errors: H3181 the numbers contradict each other,
// H3184 the hostfile cannot be used, H0003 it cannot be read.
Status place_ranks(const LaunchSettings& settings, LaunchRequest& request);

// Checks what several machines with a launcher each need to find each other: an address, a port and a token. Error
// H3181 if one is missing, or the number of this machine is too large.
Status check_machines(const LaunchSettings& settings, const std::string& token);

}  // namespace hone
