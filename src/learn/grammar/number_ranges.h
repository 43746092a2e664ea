// Numbers of JSON between two bounds, digit by digit.
#pragma once

#include <optional>

#include "learn/grammar/automaton.h"

namespace hone {

struct NumberBound {
  int64_t value = 0;
  bool open = false;  // the bound itself is not allowed
};

// Adds the numbers between the bounds, whole ones alone or with at most 15 digits of a fraction
// (without an exponent). Absent: at most 15 digits.
void add_number_range(Automaton& a, int32_t from, int32_t to, std::optional<NumberBound> least,
                      std::optional<NumberBound> most, bool whole);

}  // namespace hone
