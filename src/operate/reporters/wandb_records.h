// Records of Weights & Biases' transaction log: a run, its machine and its use.
#pragma once

#include <string>

#include "operate/reporters/run_info.h"
#include "operate/reporters/wandb_file.h"
#include "operate/telemetry/usage.h"

namespace hone {

// RunRecord, with the values of the variables WANDB_....
std::string wandb_run(const RunInfo& info, const std::string& id);
// EnvironmentRecord, the source of files/wandb-metadata.json.
std::string wandb_environment(const RunInfo& info);
// The use of the machine under W&B's own names, without the prefix "system." of its pages. Bytes of
// disk and network count from `first`.
WandbItems wandb_usage(const Usage& u, const Usage& first, int64_t processors);

}  // namespace hone
