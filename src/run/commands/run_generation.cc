// hone run_generation ...: Transformers' example script as people type it.
#include "run/commands/run_generate.h"

namespace hone {
namespace {

Result<int> run_run_generation(const std::vector<std::string>& args) {
  if (args.size() == 1 && args[0] == kMarkdownFlag) {
    print_out(
        "## hone run_generation\n\n`hone generate` under the name of Transformers' script, with "
        "its defaults: it samples (`--k 0 --p 0.9`), adds `--length 20` tokens, and prints prompt "
        "and continuation.\n");
    return kExitDone;
  }
  return run_generate(args, true);
}

}  // namespace

Command command_run_generation() {
  return {.name = "run_generation",
          .summary = "generate like Transformers' run_generation.py: sampling by default",
          .in = CommandGroup::kOtherPrograms,
          .aliases = {"run_generation.py"},
          .run = run_run_generation};
}

}  // namespace hone
