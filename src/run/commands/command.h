// A command of the program hone, such as hone train. A file <file>.cc in run/commands that defines `Command
// command_<file>();` adds a command; the build collects all of them. The name of a command is the name of its file with
// '-' instead of '_', unless Command::name gives another one.
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

// Exit statuses on which scripts may rely.
// kExitDone: success. kExitUsage: an Error in the settings (H02xx). kExitUserError: any other Error. kExitBug: a
// mistake in hone. kExitOutOfTime: --max_hours or --max_cost has stopped a training.
inline constexpr int kExitDone = 0, kExitUserError = 1, kExitUsage = 2, kExitBug = 3,
                     kExitOutOfTime = 124;

// The group in which `hone help` lists a command.
enum class CommandGroup { kTrain, kUse, kInspect, kOperate, kOtherPrograms };
// A CommandGroup without a default value: code that makes a Command must name its group.
struct OfGroup {
  OfGroup(CommandGroup g) : group(g) {}
  CommandGroup group;
};

struct Command {
  std::string name;     // "train"
  std::string summary;  // one line for `hone help`, in lower case, without a full stop
  OfGroup in;
  std::vector<std::string> aliases = {};  // other names, such as "run_clm.py"
  // Runs the command. `args` are the words after its name. Returns the exit status. If it returns an Error, main()
  // prints it and exits with kExitUserError or kExitUsage.
  Result<int> (*run)(const std::vector<std::string>& args) = nullptr;
};

// All commands in the order of their files. The build generates this function.
std::vector<Command> all_command();

// Runs another command, for commands that only rewrite its arguments. An unknown name is a Bug.
Result<int> run_command_named(const std::string& name, const std::vector<std::string>& args);

// A command with this as its only argument prints its reference in Markdown.
inline constexpr const char* kMarkdownFlag = "--help-markdown";

// A command with this as its first argument fills asked_sheet() with its flags and does nothing else.
inline constexpr const char* kSheetFlag = "--help-sheet";
bool asks_for_sheet(const std::vector<std::string>& args);
CommandSheet& asked_sheet();  // the sheet to fill; valid only while sheet_of() runs the command
// The flags of a command, for completion scripts and manual pages. Calls its run() with kSheetFlag.
Result<CommandSheet> sheet_of(const Command& command);

struct Parsed {
  bool done = false;  // help or similar was requested and is printed: return 0
  ParseOutcome outcome;
};
// Calls schema.parse() with the environment of this process, and handles kMarkdownFlag, kSheetFlag, --help and
// --dump-config: prints to standard output and sets Parsed::done. Notices go to the log. --help shows the common
// settings, or, after a verb, the settings of the verb; --help all shows all settings.
// `check` refuses mistakes that can be seen from the settings alone. It must not read files that earlier steps of a
// pipeline write, because hone pipeline runs the commands of all steps with --dump-config before the first step.
// Errors: those of Schema::parse() and of `check`.
Result<Parsed> parse_settings(Schema& schema, const std::vector<std::string>& args,
                              const std::function<Status()>& check = {});

}  // namespace hone
