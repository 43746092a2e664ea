// The rules of SPEC.md as code. Runs after every pass that changed something.
#pragma once

#include "engine/graph/graph.h"

namespace hone {

// Ok, or the first rule that is broken, with the node's number, op and scope.
Status verify(const Program& p);

}  // namespace hone
