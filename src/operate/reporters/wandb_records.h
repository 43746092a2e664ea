// What the transaction log of Weights & Biases says of a run, its machine and what it uses.
#pragma once

#include <string>

#include "operate/reporters/run_info.h"
#include "operate/reporters/wandb_file.h"
#include "operate/usage/usage.h"

namespace hone {

// RunRecord, with what the variables WANDB_... say of it.
std::string wandb_run(const RunInfo& info, const std::string& id);
// EnvironmentRecord: what the client makes files/wandb-metadata.json of.
std::string wandb_environment(const RunInfo& info);
// Under W&B's own names, without the "system." that its pages put before them. Bytes of disk and
// network are those since `first`.
WandbItems wandb_usage(const Usage& u, const Usage& first, int64_t processors);

}  // namespace hone
