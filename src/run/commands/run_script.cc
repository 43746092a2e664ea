#include "run/commands/run_script.h"

#include "run/commands/command.h"

namespace hone {

Result<int> run_script(const std::string& name, const std::string& task,
                       const std::vector<std::string>& args, const std::string& flag) {
  if (args.size() == 1 && args[0] == kMarkdownFlag) {
    print_out(fmt::format(
        "## hone {}\n\n`hone train --{} {}` under the name of the script that it replaces.\n", name,
        flag, task));
    return kExitDone;
  }
  if (asks_for_sheet(args)) {
    asked_sheet().same_as = "train";
    return kExitDone;
  }
  // The task comes last: a settings file, if any, is the first argument.
  std::vector<std::string> all = args;
  all.insert(all.end(), {"--" + flag, task});
  return run_command_named("train", all);
}

}  // namespace hone
