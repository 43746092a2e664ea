// States that programs keep as halves (engine/graph/halves.h); host code reads and writes their numbers in f32.
#pragma once

#include <set>
#include <string>

#include "engine/graph/graph.h"

namespace hone {

// Adds the names of those of the program.
void add_halved_states(const Program& p, std::set<std::string, std::less<>>& names);
// Whether the node makes its result `k` as halves.
bool makes_halves(const Node& n, size_t k);

// Numbers [first, first + count) of `upper` and `lower`, as bytes of f32 and back.
void join_halves(const uint16_t* upper, const uint16_t* lower, int64_t count, std::byte* to);
void split_halves(const std::byte* from, int64_t count, uint16_t* upper, uint16_t* lower);

}  // namespace hone
