// Makes messages of W&B's transaction log (wandb_file.h): about a run, its machine, and the use of the machine's CPU,
// GPU, memory, disk and network.
#pragma once

#include <string>

#include "operate/reporters/run_info.h"
#include "operate/reporters/wandb_file.h"
#include "operate/telemetry/usage.h"

namespace hone {

// A serialized RunRecord. The project, the entity and other values are from the environment variables WANDB_...; `id`
// is the run's id in W&B.
std::string wandb_run(const RunInfo& info, const std::string& id);
// A serialized EnvironmentRecord, from which W&B makes files/wandb-metadata.json.
std::string wandb_environment(const RunInfo& info);
// The machine's use `u` under W&B's names, without the prefix "system." that W&B's pages show. Bytes of disk and
// network are counted from `first`, the first sample of the run. `processors`: the machine's number of processor cores.
WandbItems wandb_usage(const Usage& u, const Usage& first, int64_t processors);

}  // namespace hone
