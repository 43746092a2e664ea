// Checks whether hone can read parquet on this machine, for `hone doctor`.
#pragma once

#include "base/core/probe.h"

namespace hone {

Probe probe_parquet();

}  // namespace hone
