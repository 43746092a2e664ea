// Starts a command of hone as several ranks (processes with one device each), for hone launch and for the launchers of
// other programs that hone replaces (launcher.h).
#pragma once

#include <string>
#include <vector>

#include "base/core/error.h"
#include "operate/launch/launch.h"
#include "run/commands/launch_settings.h"

namespace hone {

// Starts `command` (the name of a command of hone, and its arguments) as the ranks that the settings request, and waits
// until they have ended. A single rank runs inside this process. If a rank fails, prints the first error of the run in
// one sentence. Returns the exit status. Errors: H3181 the ranks cannot be started as requested, H3184 the hostfile
// cannot be used, H0003 the hostfile cannot be read, those of the launcher.
Result<int> launch_ranks(const LaunchSettings& settings, const std::vector<std::string>& command);

// Starts the ranks of a request and waits until they have ended. Prints and returns the same as launch_ranks(). If
// `dry_run` is true, only prints the commands of the ranks. Errors: those of the launcher.
Result<int> run_ranks(const RankLauncher& launcher, const LaunchRequest& request, bool dry_run);

}  // namespace hone
