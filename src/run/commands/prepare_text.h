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

// Checks the settings. Errors: H2115 they contradict each other or the task, such as --workers for a task that does not
// train on plain text; H3010 the columns of --slice_columns cannot be stored with the output.
Status check_output(const PrepareOnly& s, const ChosenTask& chosen);

// Locks the output folder against other processes. Removes incomplete files that a killed process left in the folders
// of `splits`. If --overwrite_output_dir is set, removes the earlier output too.
Result<RunLock> lock_folder(const PrepareOnly& s, const std::string& folder,
                            const std::vector<PreparedFiles>& splits);

// Tokenises the text and writes the output. `args` are the arguments of hone prepare, which the processes of --workers
// get.
Result<Prepared> prepare_text(const PrepareOnly& s, const std::vector<std::string>& args,
                              const Task& task, const Pretrained& model, ThreadPool& pool,
                              PrepareOptions& options);

}  // namespace hone
