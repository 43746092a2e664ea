// The memory plan of a session as text.
#pragma once

#include <string>

#include "engine/session/session.h"

namespace hone {

// Prints three tables: the bytes of the arenas (the device's by purpose), the place of each state, and for the first
// program the kernel of each node and the places of its results.
std::string plan_text(const Session& session);

}  // namespace hone
