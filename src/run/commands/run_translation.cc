// hone run_translation ...: Transformers' script as people type it, which is train --task
// translation.
#include "run/commands/command.h"
#include "run/commands/run_script.h"

namespace hone {

Command command_run_translation() {
  return {.name = "run_translation",
          .summary = "same as train --task translation",
          .in = CommandGroup::kOtherPrograms,
          .aliases = {"run_translation.py"},
          .run = [](const std::vector<std::string>& args) {
            return run_script("run_translation", "translation", args);
          }};
}

}  // namespace hone
