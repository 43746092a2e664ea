// A command of the program. Each file of run/commands is one and defines `Command
// command_<file>();`; its name is the file's with '-' for '_', unless `name` gives another.
//
//   Result<int> run_words(const std::vector<std::string>& args) {
//     WordsSettings settings;
//     Schema schema("hone words", "count words");
//     settings.bind(schema);
//     if (HONE_TRY(parse_settings(schema, args)).done) return 0;   // --help, --dump-config
//     ...
//     return 0;
//   }
//   Command command_words() {
//     return {.name = "words",
//             .summary = "count words",
//             .in = CommandGroup::kInspect,
//             .run = run_words};
//   }
// Results for machines go to standard output, everything else to standard error (base/core/log.h).
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/core/error.h"
#include "base/core/output.h"
#include "base/core/version.h"
#include "base/settings/settings.h"
#include "run/manual/sheet.h"

namespace hone {

// Exit statuses that scripts may rely on.
inline constexpr int kExitDone = 0, kExitUserError = 1, kExitUsage = 2, kExitBug = 3,
                     kExitOutOfTime = 124;  // of training that --max_hours or --max_cost stopped

// The group of `hone help` in which a command is listed.
enum class CommandGroup { kTrain, kUse, kInspect, kOperate, kOtherPrograms };
struct OfGroup {  // without a default, so that each command names its group
  OfGroup(CommandGroup g) : group(g) {}
  CommandGroup group;
};

struct Command {
  std::string name;     // "train"
  std::string summary;  // one line of `hone help`, in lower case, no full stop
  OfGroup in;
  std::vector<std::string> aliases = {};
  // `args` follow the command's name. Returns the exit status; an Error is printed in its three
  // parts with status 1, or 2 when it is about settings (H02xx).
  Result<int> (*run)(const std::vector<std::string>& args) = nullptr;
};

std::vector<Command> all_command();  // the shelf, by name of file

// Runs another command of the shelf; aliases call it with rewritten arguments.
Result<int> run_command_named(const std::string& name, const std::vector<std::string>& args);

// Alone as argument: the command prints its reference in Markdown.
inline constexpr const char* kMarkdownFlag = "--help-markdown";

// First among the arguments: the command fills asked_sheet() with its flags.
inline constexpr const char* kSheetFlag = "--help-sheet";
bool asks_for_sheet(const std::vector<std::string>& args);
CommandSheet& asked_sheet();  // while sheet_of() runs
// The flags of a command, for completion and manual pages.
Result<CommandSheet> sheet_of(const Command& command);

struct Parsed {
  bool done = false;  // --help or --dump-config was asked for and is printed
  ParseOutcome outcome;
};
// schema.parse with this process' environment. Prints help and dumped configs to standard output,
// notices to the log. Help shows the common settings, or those of a verb; all with --help all.
// `check` refuses mistakes that the settings alone show. It must not read files of earlier steps, because hone
// pipeline runs it with --dump-config before the first step.
Result<Parsed> parse_settings(Schema& schema, const std::vector<std::string>& args,
                              const std::function<Status()>& check = {});

}  // namespace hone
