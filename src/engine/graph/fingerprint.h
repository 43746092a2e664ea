// Hashes of programs and nodes: equal programs have equal hashes.
#pragma once

#include "engine/graph/graph.h"

namespace hone {

// Whether two nodes compute the same: they have equal ops, operands and attributes. Doubles are
// compared bit by bit.
bool computes_the_same(const Node& a, const Node& b);
// A hash of the op, the operands and the attributes: equal for nodes for which computes_the_same() is true.
uint64_t hash_of(const Node& n);

// Hashes everything that print() (text.h) shows of the program.
uint64_t fingerprint(const Program& p);

// Hashes what decides the program's results; SPEC.md has the rules. Duplicated or reordered nodes, copies
// of values, scopes, phases and the mark `clone` do not change it.
uint64_t numeric_fingerprint(const Program& p);

}  // namespace hone
