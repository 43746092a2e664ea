// Completion of a command line by a shell: commands, verbs, flags, the words of a flag, files.
#pragma once

#include <string>
#include <vector>

#include "run/manual/sheet.h"

namespace hone {

std::vector<std::string> completion_shells();  // "bash", ...
std::vector<std::string> help_flags();         // of hone help: "--completion", ...

// The whole script for one of completion_shells(). `commands` are in the order of the overview.
std::string completion_script(const std::string& shell, const std::vector<CommandSheet>& commands);

}  // namespace hone
