// hone run_qa ...: Transformers' script as people type it, which is train --task qa.
#include "run/commands/command.h"
#include "run/commands/run_script.h"

namespace hone {
namespace {

Result<int> run_run_qa(const std::vector<std::string>& args) {
  return run_script("run_qa", "qa", args);
}

}  // namespace

Command command_run_qa() {
  return {.name = "run_qa",
          .summary = "same as train --task qa",
          .in = CommandGroup::kOtherPrograms,
          .aliases = {"run_qa.py"},
          .run = run_run_qa};
}

}  // namespace hone
