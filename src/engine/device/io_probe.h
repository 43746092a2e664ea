// The way in which this machine reads and writes values offloaded to a disk, for `hone doctor`.
#pragma once

#include "base/core/probe.h"

namespace hone {

Probe probe_io_uring();

}  // namespace hone
