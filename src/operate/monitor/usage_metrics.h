// What a machine uses, as metrics: GPUs under the names of NVIDIA's DCGM exporter, the process under
// those of Prometheus' client libraries.
#pragma once

#include "operate/metrics/metrics.h"
#include "operate/usage/usage.h"

namespace hone {

// Sets them all; those that a card does not say are left out. `host` labels GPUs.
void put_usage(Metrics& metrics, const Usage& u, const std::string& host);

}  // namespace hone
