// hone run_ner ...: Transformers' script as people type it, which is train --task ner.
#include "run/commands/command.h"
#include "run/commands/run_script.h"

namespace hone {
namespace {

Result<int> run_run_ner(const std::vector<std::string>& args) {
  return run_script("run_ner", "ner", args);
}

}  // namespace

Command command_run_ner() {
  return {.name = "run_ner",
          .summary = "same as train --task ner",
          .in = CommandGroup::kOtherPrograms,
          .aliases = {"run_ner.py"},
          .run = run_run_ner};
}

}  // namespace hone
