// The command hone help: the list of commands by groups, the reference, completion scripts, manual pages, and the pages
// of errors.
#pragma once

#include <string>
#include <vector>

#include "run/commands/command.h"

namespace hone {

// The list of all commands, for a terminal of screen_width() columns.
std::string overview(std::vector<Command> commands);

// Returns true if the words after `hone help` begin with the name of a command. False for a flag, the code of an error,
// `metrics`, and `models` as the only word.
bool is_about_command(const std::vector<std::string>& words);

// Checks the words after `hone help COMMAND`. The first may be `all`, a verb of the command or a value of its first
// argument; each further word must be `all`. Error H3001 for any other word.
Status check_topic(const Command& command, const std::vector<std::string>& words);

// Returns true if the word is a flag of `hone help`, such as --families.
bool is_help_flag(const std::string& word);

// Prints the help for words that do not begin with a command: no words (the overview), `models`, `metrics`, the code of
// an error such as `H2406`, --families, --markdown, or --completion SHELL. For --man FOLDER it writes files. Returns
// the exit status. Errors: H3001 an unknown topic, H3006 the shell or the folder is missing, or the shell is unknown.
Result<int> help_without_command(const std::vector<Command>& commands,
                                 const std::vector<std::string>& words);

}  // namespace hone
