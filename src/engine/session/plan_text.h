// The memory plan of a session as text.
#pragma once

#include <string>

#include "engine/session/session.h"

namespace hone {

// The arenas by purpose, the place of each state, and the kernel and place of each node's results
// in the first program.
std::string plan_text(const Session& session);

}  // namespace hone
