// Shows the speeds of this machine from the file of machine_speeds.h, for `hone doctor`. Does not measure.
#pragma once

#include "base/core/probe.h"

namespace hone {

// `threads`: the number of CPU threads; the speeds that were measured with this number are shown. 0: all threads of the
// machine.
Probe probe_speed(int threads);

}  // namespace hone
