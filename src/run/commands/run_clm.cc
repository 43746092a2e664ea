// hone run_clm ...: Transformers' script as people type it, which is train --task clm.
#include "run/commands/command.h"
#include "run/commands/run_script.h"

namespace hone {

Command command_run_clm() {
  return {.name = "run_clm",
          .summary = "same as train --task clm",
          .in = CommandGroup::kOtherPrograms,
          .aliases = {"run_clm.py"},
          .run = [](const std::vector<std::string>& args) {
            return run_script("run_clm", "clm", args);
          }};
}

}  // namespace hone
