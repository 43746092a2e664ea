// The completion script of each shell, for completion.cc only.
#pragma once

#include <string>
#include <vector>

#include "run/manual/sheet.h"

namespace hone {

std::string bash_completion(const std::vector<CommandSheet>& commands);
std::string zsh_completion(const std::vector<CommandSheet>& commands);
std::string fish_completion(const std::vector<CommandSheet>& commands);

// The pattern "--a|--b" of a shell's `case`, with the flags for which is(flag) is true; "" if there is none.
template <class Is>
std::string flag_pattern(const std::vector<const FlagSheet*>& flags, Is is) {
  std::string pattern;
  for (const FlagSheet* f : flags)
    if (is(*f)) pattern += (pattern.empty() ? "--" : "|--") + f->name;
  return pattern;
}

// The branch for a command in the script's function _hone_value(). It sets the kind of each flag's value, its possible
// words, and whether it is a list. `words` is a format for an assignment in the shell's language, "words='{}'"; {} is
// replaced by the words, joined by blanks.
std::string value_cases(const CommandSheet& c, const std::string& words);

}  // namespace hone
