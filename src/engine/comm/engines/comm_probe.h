// Engines for messages between ranks, for `hone doctor`.
#pragma once

#include "base/core/probe.h"

namespace hone {

Probe probe_communication();

}  // namespace hone
