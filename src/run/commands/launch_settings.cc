#include "run/commands/launch_settings.h"

#include "operate/launch/launch.h"

namespace hone {

#define HONE_BIND LaunchSettings::bind
#define HONE_SETTINGS "run/commands/launch.def"
#include "base/settings/bind.inc"

std::vector<std::string> launcher_choices() {
  std::vector<std::string> names = rank_launcher_names();
  names.insert(names.begin(), "");
  return names;
}

}  // namespace hone
