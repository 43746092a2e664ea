// hone run_clm ...: Transformers' script as people type it, which is train --task clm.
#include "run/commands/command.h"

namespace hone {
namespace {

Result<int> run_run_clm(const std::vector<std::string>& args) {
  if (args.size() == 1 && args[0] == kMarkdownFlag) {
    print_out(
        "## hone run_clm\n\n`hone train --task clm` under the name of Transformers' script.\n");
    return kExitDone;
  }
  // The task stands last: a settings file, if any, is the first argument.
  std::vector<std::string> all = args;
  all.insert(all.end(), {"--task", "clm"});
  return run_command_named("train", all);
}

}  // namespace

Command command_run_clm() {
  return {.name = "run_clm",
          .summary = "the same as train --task clm",
          .aliases = {"run_clm.py"},
          .run = run_run_clm};
}

}  // namespace hone
