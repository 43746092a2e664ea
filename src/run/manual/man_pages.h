// Makes manual pages in the language roff, with the macros of man(7).
#pragma once

#include <map>
#include <string>
#include <vector>

#include "run/manual/sheet.h"

namespace hone {

// The manual pages of section 1: file name -> text. "hone.1" is the overview. Each command with CommandSheet::own_page
// has a page such as "hone-train.1". `commands` are in the order of the list that `hone help` prints.
std::map<std::string, std::string> man_pages(const std::vector<CommandSheet>& commands,
                                             const std::string& version);

}  // namespace hone
