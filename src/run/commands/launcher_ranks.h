// Converts flags of other programs' launchers, such as torchrun, to settings of hone launch. Only flags that request
// ranks (processes that train together) are converted here.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/core/error.h"
#include "run/commands/launch_settings.h"

namespace hone {

// A flag of a launcher, its meaning (a key of `meanings` in launcher_ranks.cc), and its value.
struct RankFlag {
  std::string flag, meaning, value;
};

// Returns the settings for the given flags. Flags for devices and threads set environment variables of this process. If
// no flag names a hostfile, the file `usual_hostfile` is the hostfile if it exists; "": none. Error H3004 if a value
// cannot be parsed or is not supported.
Result<LaunchSettings> ranks_of_flags(const std::vector<RankFlag>& flags,
                                      const std::string& usual_hostfile = "");

}  // namespace hone
