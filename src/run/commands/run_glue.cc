// hone run_glue ...: Transformers' script as people type it, which is train --task classification.
#include "run/commands/command.h"
#include "run/commands/run_script.h"

namespace hone {
namespace {

Result<int> run_run_glue(const std::vector<std::string>& args) {
  return run_script("run_glue", "classification", args);
}

}  // namespace

Command command_run_glue() {
  return {.name = "run_glue",
          .summary = "same as train --task classification",
          .in = CommandGroup::kOtherPrograms,
          .aliases = {"run_glue.py"},
          .run = run_run_glue};
}

}  // namespace hone
