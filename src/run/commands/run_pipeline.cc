// hone python3 pipeline.py --project=P --pipeline_root=R --config=C: recipes that submit a pipeline by
// a program of this name; it is pipeline run.
#include "run/commands/command.h"

namespace hone {
namespace {

Result<int> run_as_program(const std::vector<std::string>& args) {
  if (args.size() == 1 && args[0] == kMarkdownFlag) {
    print_out(
        "## hone run_pipeline\n\n`hone pipeline run` under the name of the script pipeline.py.\n");
    return kExitDone;
  }
  if (asks_for_sheet(args)) {
    asked_sheet().same_as = "pipeline";
    return kExitDone;
  }
  std::vector<std::string> all = {"run"};
  all.insert(all.end(), args.begin(), args.end());
  return run_command_named("pipeline", all);
}

}  // namespace

Command command_run_pipeline() {
  return {.name = "run_pipeline",
          .summary = "same as pipeline run",
          .in = CommandGroup::kOtherPrograms,
          .aliases = {"pipeline.py"},
          .run = run_as_program};
}

}  // namespace hone
