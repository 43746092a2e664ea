// Checks the rules of SPEC.md about spaces and lanes.
#pragma once

#include "engine/graph/graph.h"

namespace hone {

// Returns Ok, or an Error with the first broken rule. The caller has checked every other rule
// (verify.h).
Status verify_places(const Program& p);

}  // namespace hone
