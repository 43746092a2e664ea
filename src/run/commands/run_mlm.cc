// hone run_mlm ...: Transformers' script as people type it, which is train --task mlm.
#include "run/commands/command.h"
#include "run/commands/run_script.h"

namespace hone {

Command command_run_mlm() {
  return {.name = "run_mlm",
          .summary = "same as train --task mlm",
          .in = CommandGroup::kOtherPrograms,
          .aliases = {"run_mlm.py"},
          .run = [](const std::vector<std::string>& args) {
            return run_script("run_mlm", "mlm", args);
          }};
}

}  // namespace hone
