// Whether this machine reads parquet, for `hone doctor`.
#pragma once

#include "base/core/probe.h"

namespace hone {

Probe probe_parquet();

}  // namespace hone
