// Starts a command of hone as several ranks: hone launch, and the launchers of other programs.
#pragma once

#include <string>
#include <vector>

#include "base/core/error.h"
#include "operate/launch/launch.h"
#include "run/commands/launch_settings.h"

namespace hone {

// Starts a command and its arguments as the ranks that the settings request, and waits; one rank runs
// inside this process. Prints the first error of the first rank in one sentence and returns its exit status.
// Errors: H3181, H3184, H0003 the hostfile cannot be read, those of the launcher.
Result<int> launch_ranks(const LaunchSettings& settings, const std::vector<std::string>& command);

// Starts the ranks of a request, or prints their commands. Prints the first error of the first rank. Errors:
// those of the launcher.
Result<int> run_ranks(const RankLauncher& launcher, const LaunchRequest& request, bool dry_run);

}  // namespace hone
