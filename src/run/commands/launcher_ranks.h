// The ranks that the flags of other programs' launchers request.
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

// `usual_hostfile`: read if it exists and no other one is named. Errors: H3004 a value cannot be read, or
// requests what hone does not do.
Result<LaunchSettings> ranks_of_flags(const std::vector<RankFlag>& flags,
                                      const std::string& usual_hostfile = "");

}  // namespace hone
