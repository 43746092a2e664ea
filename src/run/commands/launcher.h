// Accepts the command lines of other programs' launchers, such as torchrun, deepspeed and accelerate launch, which
// start a script as several processes. The name of the script selects the command of hone.
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
  std::string example;  // an example flag for the usage line
  std::vector<LauncherFlag> flags;
  std::map<std::string, std::string> letters = {};  // short flag (-x) -> long flag
  // Launcher flags that flags of the script replace: meanings[flag][value] is the script's flag; "": the launcher's
  // flag has no effect. meanings[flag][""] stands for all values: the value is appended to its text.
  std::map<std::string, std::map<std::string, std::string>> meanings = {};
  // config_flag: the flag that names a file with values of other flags (launcher_config.h). usual_config: the file to
  // read if this flag is missing; "": none.
  std::string config_flag = {}, usual_config = {};
  // Launcher flags that request ranks (processes that train together): flag -> RankFlag::meaning (launcher_ranks.h).
  std::map<std::string, std::string> ranks = {};
  std::string usual_hostfile = {};  // the hostfile that the launcher reads by default if it exists
};

// Runs a command line of the launcher: the flags of the launcher, a script (a file such as run_clm.py, or a module
// after -m), and the flags of the script. Starts the command of hone that replaces the script, as the requested ranks.
// Returns the exit status. Errors: H3004 the script is missing or unknown to hone, or a flag cannot be used; those of
// launch_ranks().
Result<int> run_launcher(const Launcher& launcher, const std::vector<std::string>& args);

}  // namespace hone
