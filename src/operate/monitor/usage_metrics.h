// Use of the machine as metrics: GPUs under the names of NVIDIA's DCGM exporter, the process under
// the names of Prometheus' client libraries.
#pragma once

#include <vector>

#include "base/ranks/rank_status.h"
#include "operate/telemetry/metrics.h"
#include "operate/telemetry/usage.h"

namespace hone {

// Sets all of them, except values that a card does not report. `host` labels GPUs.
void put_usage(Metrics& metrics, const Usage& u, const std::string& host);

// Sets the times that the steps of each rank compute.
void put_rank_times(Metrics& metrics, const std::vector<RankTimes>& times);

}  // namespace hone
