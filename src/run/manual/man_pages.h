// Manual pages in the language roff, with the macros of man(7).
#pragma once

#include <map>
#include <string>
#include <vector>

#include "run/manual/sheet.h"

namespace hone {

// The manual pages of section 1: texts by file name. "hone.1" is the overview, and "hone-train.1" is the page of a
// command (CommandSheet::own_page). `commands` are in the order of the list of commands.
std::map<std::string, std::string> man_pages(const std::vector<CommandSheet>& commands,
                                             const std::string& version);

}  // namespace hone
