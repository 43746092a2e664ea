// Runs with one launcher on each machine: the launchers agree on the places of their ranks before each membership.
#pragma once

#include <vector>

#include "base/ranks/machines.h"
#include "operate/launch/launch.h"

namespace hone {

// Runs the ranks of this machine, together with those of the other machines' launchers, until the run ends. The
// launcher of the machine that `request.address` names serves the control plane; if that machine has several launchers,
// the first one serves it. After a crash, the run continues without machines that do not come back in time, if at least
// `request.min_ranks` ranks are left. Errors: those of the launcher `local`; H0126 machines are missing.
Result<LaunchEnd> run_machines(LaunchRequest request);

// Places the ranks of the waiting machines and of this machine, `request.machine`, in the order of the machines'
// numbers. A machine without a number gets the lowest unused one. Returns the places of the waiting machines; sets
// `ranks` and `first_rank` of the request.
std::vector<MachinePlace> places_of(const std::vector<WaitingMachine>& waiting,
                                    LaunchRequest& request);

}  // namespace hone
