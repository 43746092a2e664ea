// Makes the scripts with which a shell completes command lines of hone: commands, verbs, flags, values of flags, and
// files.
#pragma once

#include <string>
#include <vector>

#include "run/manual/sheet.h"

namespace hone {

std::vector<std::string> completion_shells();  // "bash", "zsh", "fish"
std::vector<std::string> help_flags();         // the flags of hone help: "--completion", ...

// The script for a shell, one of completion_shells(). `commands` are in the order of the list that `hone help` prints.
std::string completion_script(const std::string& shell, const std::vector<CommandSheet>& commands);

}  // namespace hone
