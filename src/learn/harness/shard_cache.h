// A cache of prepared shards for `hone prepare --shard_cache`. It has a folder of shards for each data file. The name
// of the folder is a hash of the file's content, the settings that decide the rows, and hone's version.
#pragma once

#include <string>

#include "base/core/threads.h"
#include "learn/data/shards/shards.h"
#include "learn/harness/task.h"

namespace hone {

// The reason why the files cannot be prepared one by one, as text: the rows of a file may depend on other files. "":
// they can be prepared one by one. Task::prepared must be set.
std::string why_not_by_file(const Task& task, const std::vector<PreparedFiles>& splits);

// Prepares each file that is not in the cache yet, then merges the shards of all files into options.folder. If a stop
// is requested before the merge, returns Prepared with `stopped` true; prepared files stay in the cache. `cache`: the
// folder of the cache, which is created if it is missing. Task::prepared must be set. Changes do_train, do_eval and
// do_predict of the task's settings. Errors: those of the rows, of prepare_rows and of merge_shards.
Result<Prepared> prepare_by_file(const std::string& cache, const Task& task,
                                 const Pretrained& model, ThreadPool& pool,
                                 const PrepareOptions& options,
                                 const std::vector<PreparedFiles>& splits);

}  // namespace hone
