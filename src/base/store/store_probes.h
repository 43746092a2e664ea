// Disks and the hub of this machine, for `hone doctor`.
#pragma once

#include "base/core/probe.h"

namespace hone {

Probe probe_disk();  // of the current folder and the hub's cache
Probe probe_hub();

}  // namespace hone
