// Numbers that are equal for equal programs.
#pragma once

#include "engine/graph/graph.h"

namespace hone {

// Whether two nodes compute the same: op, operands and attributes are equal, doubles by their bits.
bool computes_the_same(const Node& a, const Node& b);
// Equal for nodes that compute the same.
uint64_t hash_of(const Node& n);

// A number that changes when anything changes that print() shows.
uint64_t fingerprint(const Program& p);

// A number that changes when a result of the program may change: see SPEC.md. Duplicated, moved and
// copied nodes leave it, and so do scopes, phases and marks.
uint64_t numeric_fingerprint(const Program& p);

}  // namespace hone
