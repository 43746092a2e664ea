// Shows the speeds of this machine from the file of machine_speeds.h, for `hone doctor`. Does not measure.
#pragma once

#include "base/core/probe.h"

namespace hone {

// `threads`: CPU threads whose measured speeds to show; 0: all.
Probe probe_speed(int threads);

}  // namespace hone
