// hone trainer.task ...: the NLI program of that name, which is train --preset nli.
#include "run/commands/command.h"
#include "run/commands/run_script.h"

namespace hone {
namespace {

Result<int> run_trainer_task(const std::vector<std::string>& args) {
  return run_script("trainer.task", "nli", args, "preset");
}

}  // namespace

Command command_trainer_task() {
  return {.name = "trainer.task",
          .summary = "same as train --preset nli",
          .in = CommandGroup::kOtherPrograms,
          .run = run_trainer_task};
}

}  // namespace hone
