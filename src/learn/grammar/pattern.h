// Regular expressions of JSON schemas (ECMA-262) as characters of JSON strings: literals, ".",
// classes, \d \w \s and their opposites, groups, alternatives, repeats; "^" at the beginning and "$"
// at the end of an alternative that is not in a group. The standard allows any text before
// and after an alternative without them.
#pragma once

#include "base/core/error.h"
#include "learn/grammar/characters.h"

namespace hone {

// Adds the texts of a pattern, without quotes, and returns the state after them. H2511: a part of
// the pattern is not supported; H2512: it is not a pattern. Errors have no place.
Result<int32_t> add_pattern(Automaton& a, StringRules& rules, int32_t from,
                            const std::string& pattern);

}  // namespace hone
