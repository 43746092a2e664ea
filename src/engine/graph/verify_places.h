// Checks the rules of SPEC.md about spaces and lanes.
#pragma once

#include "engine/graph/graph.h"

namespace hone {

// Returns Ok, or H1003 with the first broken rule. The caller (verify()) has checked every other rule.
Status verify_places(const Program& p);

}  // namespace hone
