// hone run_summarization ...: Transformers' script as people type it, which is train --task
// summarization.
#include "run/commands/command.h"
#include "run/commands/run_script.h"

namespace hone {

Command command_run_summarization() {
  return {.name = "run_summarization",
          .summary = "same as train --task summarization",
          .in = CommandGroup::kOtherPrograms,
          .aliases = {"run_summarization.py"},
          .run = [](const std::vector<std::string>& args) {
            return run_script("run_summarization", "summarization", args);
          }};
}

}  // namespace hone
