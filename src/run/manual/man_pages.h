// Manual pages in roff with the macros of man(7).
#pragma once

#include <map>
#include <string>
#include <vector>

#include "run/manual/sheet.h"

namespace hone {

// Names and texts of the files of section 1: "hone.1", and "hone-train.1" of each command with a page
// of its own. `commands` are in the order of the overview.
std::map<std::string, std::string> man_pages(const std::vector<CommandSheet>& commands,
                                             const std::string& version);

}  // namespace hone
