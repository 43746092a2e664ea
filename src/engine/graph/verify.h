// Checks a program by the rules of SPEC.md. Runs after every pass that changed the program.
#pragma once

#include "engine/graph/graph.h"

namespace hone {

// Returns Ok, or the first error. H1003: a rule is broken; the error names the node's number, op and scope, or the
// state, input or output. Errors of the ops' infer() are returned too.
Status verify(const Program& p);

}  // namespace hone
