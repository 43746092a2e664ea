// Launchers that start a script on several machines, with the command lines of recipes. The script
// names hone's command; the launcher's own flags have no effect here.
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
  // Flags that say what the script does, and the script's own flags in their place, by the value;
  // what stands for "" takes any value at its end.
  std::map<std::string, std::map<std::string, std::string>> meanings = {};
};

// Runs the command of the script that follows the launcher's flags: a file run_*.py, or with -m a
// module. Errors: H3004.
Result<int> run_launcher(const Launcher& launcher, const std::vector<std::string>& args);

}  // namespace hone
