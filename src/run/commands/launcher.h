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
  std::map<std::string, std::string> letters = {};  // the long flag of each short flag such as -x
  // Launcher flags that are replaced by flags of the script: meanings[flag][value] is the new text. The key "" is for
  // values without an own key; the value is appended to its text.
  std::map<std::string, std::map<std::string, std::string>> meanings = {};
  // config_flag: the flag that names a file with values of other flags (launcher_config.h). usual_config: the file that
  // is read without this flag; "": none.
  std::string config_flag = {}, usual_config = {};
  // Launcher flags that request ranks: the meaning of each flag for ranks_of_flags() (launcher_ranks.h).
  std::map<std::string, std::string> ranks = {};
  std::string usual_hostfile = {};  // the hostfile that the launcher reads by default if it exists
};

// Runs a command line of the launcher: the flags of the launcher, a script (a file run_*.py, or a module after -m), and
// the flags of the script. Starts the command of hone that belongs to the script as the requested ranks. Returns the
// exit status. Errors: H3004 there is no script that hone knows, or a flag cannot be used; those of launch_ranks().
Result<int> run_launcher(const Launcher& launcher, const std::vector<std::string>& args);

}  // namespace hone
