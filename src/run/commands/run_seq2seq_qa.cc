// hone run_seq2seq_qa ...: Transformers' script as people type it, which is train --task generative_qa.
#include "run/commands/command.h"
#include "run/commands/run_script.h"

namespace hone {
namespace {

Result<int> run_run_seq2seq_qa(const std::vector<std::string>& args) {
  return run_script("run_seq2seq_qa", "generative_qa", args);
}

}  // namespace

Command command_run_seq2seq_qa() {
  return {.name = "run_seq2seq_qa",
          .summary = "same as train --task generative_qa",
          .in = CommandGroup::kOtherPrograms,
          .aliases = {"run_seq2seq_qa.py"},
          .run = run_run_seq2seq_qa};
}

}  // namespace hone
