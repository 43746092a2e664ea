// A launcher on each machine of a run: before each membership they agree on the places of their ranks.
#pragma once

#include <vector>

#include "base/ranks/machines.h"
#include "operate/launch/launch.h"

namespace hone {

// Runs the ranks of this machine, and those of the others through their launchers, until the run ends.
// The first machine whose address it is serves the control plane. After a crash, machines that do not
// come back in time are left out, if enough ranks stay. Errors: those of the launcher `local`; H0126
// machines are missing.
Result<LaunchEnd> run_machines(LaunchRequest request);

// Places of the machines that wait, with ours, by their numbers; machines without one get the lowest free
// ones. Sets the ranks and the first rank of the request, whose machine is ours.
std::vector<MachinePlace> places_of(const std::vector<WaitingMachine>& waiting,
                                    LaunchRequest& request);

}  // namespace hone
