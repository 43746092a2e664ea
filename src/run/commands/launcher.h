// Launchers that start a script as several processes, with the command lines of recipes. The script names
// hone's command.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/core/error.h"

namespace hone {

struct LauncherFlag {
  std::string name;  // with '_' between words
  bool takes_value = true;
};

struct Launcher {
  std::string name;     // "deepspeed"
  std::string example;  // a flag of it for the usage line
  std::vector<LauncherFlag> flags;
  std::map<std::string, std::string> letters = {};  // -x and the flag that it stands for
  // Launcher flags that become flags of the script: by flag and value, the text in its place. The
  // text of the value "" is for any other value, which is appended to it.
  std::map<std::string, std::map<std::string, std::string>> meanings = {};
  // A flag that names a file with values of other flags, and the file without the flag (launcher_config.h).
  std::string config_flag = {}, usual_config = {};
  // Launcher flags that request ranks, and their meanings for ranks_of_flags() (launcher_ranks.h).
  std::map<std::string, std::string> ranks = {};
  std::string usual_hostfile = {};  // that it reads if there is one
};

// Runs the command of the script that follows the launcher's flags: a file run_*.py, or with -m a
// module, as the requested number of ranks. Errors: H3004, and those of launch_ranks().
Result<int> run_launcher(const Launcher& launcher, const std::vector<std::string>& args);

}  // namespace hone
