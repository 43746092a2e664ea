// The command hone prepare for tasks that train on plain text: it tokenises the text with one process or several, and
// writes shards (files of token ids) or files for Megatron-LM.
#pragma once

#include "base/core/threads.h"
#include "learn/data/shards/shards.h"
#include "learn/harness/task.h"
#include "learn/train/run_lock.h"
#include "run/commands/prepare_flags.h"
#include "run/commands/task_choice.h"

namespace hone {

// Error H2115 if the settings contradict each other or the task, such as --workers for a task without text; H3010 if
// --slice_columns cannot be kept.
Status check_output(const PrepareOnly& s, const ChosenTask& chosen);

// Locks the output folder against other processes. Removes the former output if --overwrite_output_dir is set, and
// incomplete files that a killed process left in the folders of `splits`.
Result<RunLock> lock_folder(const PrepareOnly& s, const std::string& folder,
                            const std::vector<PreparedFiles>& splits);

// Tokenises the text and writes the output. `args` are the arguments of hone prepare, which the processes of --workers
// get.
Result<Prepared> prepare_text(const PrepareOnly& s, const std::vector<std::string>& args,
                              const Task& task, const Pretrained& model, ThreadPool& pool,
                              PrepareOptions& options);

}  // namespace hone
