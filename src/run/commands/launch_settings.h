// The settings of hone launch. The code that replaces launchers of other programs (launcher.h) fills them from the
// flags of these launchers.
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
std::vector<std::string> launcher_choices();  // the values of --launcher

}  // namespace hone
