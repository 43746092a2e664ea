// Converts the flags of other programs' launchers that request ranks into settings of hone launch.
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

// The settings for the given flags. Flags for devices and threads set environment variables of this process. The file
// `usual_hostfile` is the hostfile if it exists and no flag names another one; "": none. Error H3004 if a value cannot
// be read or is not supported.
Result<LaunchSettings> ranks_of_flags(const std::vector<RankFlag>& flags,
                                      const std::string& usual_hostfile = "");

}  // namespace hone
