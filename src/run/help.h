// hone help: the commands by groups, the reference, completion scripts, manual pages, pages of errors.
#pragma once

#include <string>
#include <vector>

#include "run/commands/command.h"

namespace hone {

// The list of all commands, at the width of the terminal.
std::string overview(std::vector<Command> commands);

// Whether the words after `hone help` begin with a command.
bool is_about_command(const std::vector<std::string>& words);

// Refuses words after `hone help COMMAND` that are not its verbs, first words or `all`. Errors: H3001.
Status check_topic(const Command& command, const std::vector<std::string>& words);

// Whether `hone help` takes the word as its first, such as --families.
bool is_help_flag(const std::string& word);

// hone help, help models, help metrics, help H2406, help --families, help --markdown, help --completion SHELL, help --man FOLDER.
// Errors: H3001, H3006.
Result<int> help_without_command(const std::vector<Command>& commands,
                                 const std::vector<std::string>& words);

}  // namespace hone
