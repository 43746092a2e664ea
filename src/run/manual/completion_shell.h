// The completion script of each shell, for completion.cc only.
#pragma once

#include <string>
#include <vector>

#include "run/manual/sheet.h"

namespace hone {

std::string bash_completion(const std::vector<CommandSheet>& commands);
std::string zsh_completion(const std::vector<CommandSheet>& commands);
std::string fish_completion(const std::vector<CommandSheet>& commands);

// The pattern "--a|--b" for a shell's `case`, with the flags for which is(flag) is true; "" if there is no such flag.
template <class Is>
std::string flag_pattern(const std::vector<const FlagSheet*>& flags, Is is) {
  std::string pattern;
  for (const FlagSheet* f : flags)
    if (is(*f)) pattern += (pattern.empty() ? "--" : "|--") + f->name;
  return pattern;
}

// The branch for a command in the script's function _hone_value(). For each flag, the branch sets the kind of the
// value, the possible values, and whether the value is a list. `words` is a format string for an assignment in the
// shell's language, "words='{}'", in which the possible values, separated by blanks, replace {}.
std::string value_cases(const CommandSheet& c, const std::string& words);

}  // namespace hone
