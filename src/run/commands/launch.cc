// hone launch --num_processes N -- train ...: a command of hone as several ranks.
#include <algorithm>

#include "run/commands/command.h"
#include "run/commands/errors.h"
#include "run/commands/launch_ranks.h"

namespace hone {
namespace {

// A mistake is said once here, not by each rank.
Status check_launched_command(const std::vector<std::string>& command) {
  if (command.empty())
    return Error(err::kMissingArgument, "hone launch is given no command")
        .todo("write it after --: hone launch --num_processes 2 -- train ...");
  std::string word = command[0];
  std::replace(word.begin(), word.end(), '-', '_');
  std::vector<std::string> names;
  for (const Command& c : all_command()) {
    if (c.name == word) return Ok{};
    names.push_back(c.name);
  }
  const std::string near = nearest_name(word, names);
  return Error(err::kUnknownCommand, fmt::format("hone has no command '{}'", command[0]))
      .todo(near.empty() ? "'hone help' lists them all" : fmt::format("did you mean '{}'?", near));
}

Result<int> run_launch(const std::vector<std::string>& given) {
  const auto end = std::find(given.begin(), given.end(), "--");
  const std::vector<std::string> args(given.begin(), end);
  const std::vector<std::string> command(end == given.end() ? end : end + 1, given.end());
  LaunchSettings s;
  Schema schema("hone launch", "start a command as several processes (ranks)");
  s.bind(schema);
  if (HONE_TRY(parse_settings(schema, args)).done) return kExitDone;
  HONE_TRY(check_launched_command(command));
  return launch_ranks(s, command);
}

}  // namespace

Command command_launch() {
  return {.name = "launch",
          .summary = "start a command as several processes (ranks): hone launch -- train ...",
          .in = CommandGroup::kTrain,
          .run = run_launch};
}

}  // namespace hone
