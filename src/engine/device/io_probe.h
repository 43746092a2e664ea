// Tells `hone doctor` how this machine reads and writes values that are offloaded to a disk: by io_uring or by threads.
#pragma once

#include "base/core/probe.h"

namespace hone {

Probe probe_io_uring();

}  // namespace hone
