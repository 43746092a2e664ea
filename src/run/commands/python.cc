// hone python run_clm.py ..., hone python -m trainer.task ...: a line of a recipe with hone before
// it. No Python runs.
#include "run/commands/command.h"
#include "run/commands/launcher.h"

namespace hone {
namespace {

Result<int> run_python(const std::vector<std::string>& args) {
  return run_launcher({.name = "python",
                       .example = "-u",
                       .flags = {{"u", false}, {"O", false}, {"B", false}, {"W"}, {"X"}}},
                      args);
}

}  // namespace

Command command_python() {
  return {.name = "python",
          .summary = "run a script's command line: hone python run_clm.py ...",
          .in = CommandGroup::kOtherPrograms,
          .aliases = {"python3"},
          .run = run_python};
}

}  // namespace hone
