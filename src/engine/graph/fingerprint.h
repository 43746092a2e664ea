// Numbers that are equal for equal programs.
#pragma once

#include "engine/graph/graph.h"

namespace hone {

// Whether two nodes compute the same: they have equal ops, operands and attributes. Doubles are
// compared bit by bit.
bool computes_the_same(const Node& a, const Node& b);
// Equal for nodes that compute the same.
uint64_t hash_of(const Node& n);

// Changes when any part of the output of print() changes.
uint64_t fingerprint(const Program& p);

// Changes when a result of the program may change: see SPEC.md. Duplicated or reordered nodes,
// copies of values, scopes, phases and marks do not change it.
uint64_t numeric_fingerprint(const Program& p);

}  // namespace hone
