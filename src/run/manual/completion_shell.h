// The script of each shell, inside this room.
#pragma once

#include <string>
#include <vector>

#include "run/manual/sheet.h"

namespace hone {

std::string bash_completion(const std::vector<CommandSheet>& commands);
std::string zsh_completion(const std::vector<CommandSheet>& commands);
std::string fish_completion(const std::vector<CommandSheet>& commands);

// "--a|--b" of the flags that `is` holds for: a pattern of a case; "" if there is none.
template <class Is>
std::string flag_pattern(const std::vector<const FlagSheet*>& flags, Is is) {
  std::string pattern;
  for (const FlagSheet* f : flags)
    if (is(*f)) pattern += (pattern.empty() ? "--" : "|--") + f->name;
  return pattern;
}

// The case of a command in _hone_value(): the kind of each flag's value, its words, whether it is a
// list. `words`: the shell's assignment of words that are joined by blanks, "words='{}'".
std::string value_cases(const CommandSheet& c, const std::string& words);

}  // namespace hone
