// hone profile: show where the time of a training step goes.
#include "run/commands/run_bench.h"

namespace hone {
namespace {

Result<int> run_profile(const std::vector<std::string>& args) {
  if (args.size() == 1 && args[0] == kMarkdownFlag) {
    print_out(
        "## hone profile\n\n`hone bench --profile --trace profile.json --steps 3` (`--output` is "
        "another name of `--trace`): seconds by op against the machine's limits, and a Chrome "
        "trace with a row for each thread.\n");
    return kExitDone;
  }
  return run_bench(args, true);
}

}  // namespace

Command command_profile() {
  return {.name = "profile",
          .summary = "show where the time of a training step goes",
          .in = CommandGroup::kInspect,
          .run = run_profile};
}

}  // namespace hone
