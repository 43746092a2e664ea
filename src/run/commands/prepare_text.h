// hone prepare for rows of text: by one process or by several, as shards or for Megatron-LM.
#pragma once

#include "base/core/threads.h"
#include "learn/data/shards/shards.h"
#include "learn/harness/task.h"
#include "learn/train/run_lock.h"
#include "run/commands/prepare_flags.h"
#include "run/commands/task_choice.h"

namespace hone {

// H2115 for an output that rows of the task cannot have.
Status check_output(const PrepareOnly& s, const ChosenTask& chosen);

// One process at a time, and nothing half-written by one that was killed stays.
Result<RunLock> lock_folder(const PrepareOnly& s, const std::string& folder,
                            const std::vector<PreparedFiles>& splits);

// `args` are those of hone prepare, for the processes of --workers.
Result<Prepared> prepare_text(const PrepareOnly& s, const std::vector<std::string>& args,
                              const Task& task, const Pretrained& model, ThreadPool& pool,
                              PrepareOptions& options);

}  // namespace hone
