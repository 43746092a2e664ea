// The rules of SPEC.md about spaces and lanes.
#pragma once

#include "engine/graph/graph.h"

namespace hone {

// Ok, or the first rule that is broken. The program keeps every other rule (verify.h).
Status verify_places(const Program& p);

}  // namespace hone
