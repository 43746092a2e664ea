// The command hone help: the list of commands by groups, the reference, completion scripts, manual pages, and the pages
// of errors.
#pragma once

#include <string>
#include <vector>

#include "run/commands/command.h"

namespace hone {

// The list of all commands, for a terminal of screen_width() columns.
std::string overview(std::vector<Command> commands);

// Returns true if the words after `hone help` begin with the name of a command, not with a flag, the code of an error,
// `metrics`, or `models` alone.
bool is_about_command(const std::vector<std::string>& words);

// Checks the words after `hone help COMMAND`. Error H3001 for a word other than `all`, or, in the first place, a verb
// of the command or a value of its first argument.
Status check_topic(const Command& command, const std::vector<std::string>& words);

// Returns true if the word is a flag of `hone help`, such as --families.
bool is_help_flag(const std::string& word);

// Prints the help for words that are not a command: none (the overview), models, metrics, H2406, --families,
// --markdown, --completion SHELL, --man FOLDER (writes files). Returns the exit status. Errors: H3001 an unknown
// topic, H3006 the shell or the folder is missing or unknown.
Result<int> help_without_command(const std::vector<Command>& commands,
                                 const std::vector<std::string>& words);

}  // namespace hone
