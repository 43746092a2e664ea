// Shards of single files, kept by all that decides their rows: hone prepare --shard_cache.
#pragma once

#include <string>

#include "base/core/threads.h"
#include "learn/data/shards/shards.h"
#include "learn/harness/task.h"

namespace hone {

// "" if the rows of each file do not depend on the other files, else why they do. The task has
// prepared rows.
std::string why_not_by_file(const Task& task, const std::vector<PreparedFiles>& splits);

// Prepares the files that the folder `cache` lacks, each alone, and makes options.folder of the
// shards of all. The task has prepared rows; its do_train, do_eval and do_predict are changed.
// Errors: those of the rows, of prepare_rows and merge_shards.
Result<Prepared> prepare_by_file(const std::string& cache, const Task& task,
                                 const Pretrained& model, ThreadPool& pool,
                                 const PrepareOptions& options,
                                 const std::vector<PreparedFiles>& splits);

}  // namespace hone
