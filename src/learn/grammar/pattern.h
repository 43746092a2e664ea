// Adds the regular expressions of JSON schemas (key `pattern`, ECMA-262) to an Automaton, as characters inside JSON
// strings. Supported are literals, ".", classes, \d \w \s \D \W \S, groups, alternatives and repeats. "^" may be at the
// beginning and "$" at the end of an alternative that is not in a group. As in the standard, an alternative without "^"
// may have any text before it, and an alternative without "$" any text after it.
#pragma once

#include "base/core/error.h"
#include "learn/grammar/characters.h"

namespace hone {

// Adds the texts of a pattern, without quotes, from state `from` on, and returns the state after them. Errors: H2511 a
// part of the pattern is not supported; H2512 the pattern is not a regular expression. The errors do not name the place
// in the schema; the caller adds it.
Result<int32_t> add_pattern(Automaton& a, StringRules& rules, int32_t from,
                            const std::string& pattern);

}  // namespace hone
