// States that programs keep in split form (engine/graph/halves.h): 16-bit upper halves of all numbers, then the lower
// halves. Host code reads and writes these states as f32 numbers.
#pragma once

#include <set>
#include <string>

#include "engine/graph/graph.h"

namespace hone {

// Adds the names of the program's states in split form to `names`.
void add_halved_states(const Program& p, std::set<std::string, std::less<>>& names);
// Whether result `k` of the node is in split form.
bool makes_halves(const Node& n, size_t k);

// Combines `count` upper and `count` lower halves into f32 numbers, and writes them to `to` (4 * count bytes).
void join_halves(const uint16_t* upper, const uint16_t* lower, int64_t count, std::byte* to);
// Splits the `count` f32 numbers at `from` (4 * count bytes) into upper and lower halves.
void split_halves(const std::byte* from, int64_t count, uint16_t* upper, uint16_t* lower);

}  // namespace hone
