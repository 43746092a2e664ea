// Adds JSON numbers between two bounds to an Automaton, digit by digit.
#pragma once

#include <optional>

#include "learn/grammar/automaton.h"

namespace hone {

struct NumberBound {
  int64_t value = 0;
  bool open = false;  // exclusive: the bound itself is not allowed
};

// Adds ways from state `from` to state `to` for the numbers between `least` and `most`. whole: true: only integers;
// false: also numbers with at most 15 digits after the point. Numbers have no exponent. The numbers are at least
// -999,999,999,999,999 and at most 999,999,999,999,999 (15 digits), even if a bound is absent or beyond this range.
void add_number_range(Automaton& a, int32_t from, int32_t to, std::optional<NumberBound> least,
                      std::optional<NumberBound> most, bool whole);

}  // namespace hone
