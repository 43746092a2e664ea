// hone run_classification ...: Transformers' script as people type it, which is train --task
// classification with its own rule for several text columns: they are joined.
#include "base/store/store.h"
#include "run/commands/command.h"
#include "run/commands/run_script.h"

namespace hone {
namespace {

constexpr const char* kDelimiter = "text_column_delimiter";
// The script's name for the seed, which hone prepare has for another.
constexpr std::string_view kSeed = "--shuffle_seed", kOwnSeed = "--shuffle_train_seed";

// Whether a flag or the settings file, the first argument, has it.
Result<bool> names_delimiter(const std::vector<std::string>& args) {
  for (const std::string& arg : args)
    if (arg.find(kDelimiter) != arg.npos) return true;
  if (args.empty() || args[0].starts_with("-")) return false;
  const std::string text = HONE_TRY(file_store().read(args[0]));
  return text.find(kDelimiter) != text.npos;
}

Result<int> run_run_classification(const std::vector<std::string>& args) {
  std::vector<std::string> all = args;
  for (std::string& arg : all)
    if (arg == kSeed || arg.starts_with(fmt::format("{}=", kSeed)))
      arg.replace(0, kSeed.size(), kOwnSeed);
  const bool asks = asks_for_sheet(args) || (args.size() == 1 && args[0] == kMarkdownFlag);
  if (!asks && !HONE_TRY(names_delimiter(args)))
    all.insert(all.end(), {fmt::format("--{}", kDelimiter), " "});
  return run_script("run_classification", "classification", all);
}

}  // namespace

Command command_run_classification() {
  return {.name = "run_classification",
          .summary = "same as train --task classification, with text columns joined",
          .in = CommandGroup::kOtherPrograms,
          .aliases = {"run_classification.py"},
          .run = run_run_classification};
}

}  // namespace hone
