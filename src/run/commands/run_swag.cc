// hone run_swag ...: Transformers' script as people type it, which is train --task multiple_choice.
#include "run/commands/command.h"
#include "run/commands/run_script.h"

namespace hone {
namespace {

Result<int> run_run_swag(const std::vector<std::string>& args) {
  return run_script("run_swag", "multiple_choice", args);
}

}  // namespace

Command command_run_swag() {
  return {.name = "run_swag",
          .summary = "same as train --task multiple_choice",
          .in = CommandGroup::kOtherPrograms,
          .aliases = {"run_swag.py"},
          .run = run_run_swag};
}

}  // namespace hone
