// Puts the use of the machine into metrics. GPUs have the names of NVIDIA's DCGM exporter, the process has the names of
// Prometheus' client libraries.
#pragma once

#include <vector>

#include "base/ranks/rank_status.h"
#include "operate/telemetry/metrics.h"
#include "operate/telemetry/usage.h"

namespace hone {

// Sets the metrics of the machine, the process and the GPUs, except values that a GPU does not report. `host` is the
// value of the label Hostname of the GPUs' metrics.
void put_usage(Metrics& metrics, const Usage& u, const std::string& host);

// Sets hone_rank_busy_seconds for each rank: the median and 99th percentile of the seconds that a step computes,
// without waits for other ranks.
void put_rank_times(Metrics& metrics, const std::vector<RankTimes>& times);

}  // namespace hone
