// Tells `hone doctor` which communication engines this build can use.
#pragma once

#include "base/core/probe.h"

namespace hone {

Probe probe_communication();

}  // namespace hone
