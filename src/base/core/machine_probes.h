// Facts of this machine for `hone doctor`: system, processor, memory and limits.
#pragma once

#include "base/core/probe.h"

namespace hone {

Probe probe_versions();
Probe probe_processor();
Probe probe_memory();
Probe probe_memory_nodes();
// The limits of this process from `ulimit`, and the limit of processor time of its cgroup.
Probe probe_limits();
Probe probe_huge_pages();

}  // namespace hone
