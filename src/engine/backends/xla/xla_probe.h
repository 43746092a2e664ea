// The PJRT plug-ins of this machine and their devices, for `hone doctor`.
#pragma once

#include "base/core/probe.h"

namespace hone::xla {

Probe probe_plugins();

}  // namespace hone::xla
