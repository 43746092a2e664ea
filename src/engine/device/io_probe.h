// How values that are offloaded to a disk are read and written here, for `hone doctor`.
#pragma once

#include "base/core/probe.h"

namespace hone {

Probe probe_io_uring();

}  // namespace hone
