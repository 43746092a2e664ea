// Settings of hone launch, which the launchers of other programs fill from their own flags.
#pragma once

#include <string>
#include <vector>

#include "base/settings/settings.h"

namespace hone {

struct LaunchSettings {
#define HONE_BIND_IN_CC
#define HONE_SETTINGS "run/commands/launch.def"
#include "base/settings/fields.inc"
};
std::vector<std::string> launcher_choices();  // of --launcher

}  // namespace hone
