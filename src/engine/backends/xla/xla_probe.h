// Lines of `hone doctor` about the PJRT plug-ins of this machine and their devices.
#pragma once

#include "base/core/probe.h"

namespace hone::xla {

Probe probe_plugins();

}  // namespace hone::xla
