// The speeds of this machine that were measured before, for `hone doctor`. Measures nothing.
#pragma once

#include "base/core/probe.h"

namespace hone {

Probe probe_speed(int threads);

}  // namespace hone
