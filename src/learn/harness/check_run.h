// A run as its settings ask for it: settings against each other, the rows, the disk, the memory.
#pragma once

#include "learn/check/check_rows.h"
#include "learn/harness/memory.h"

namespace hone {

// The rows of a task that learns from text alone, by check_rows.h.
RowsReport check_texts(const TaskSettings& s, const TextSource& text, const CheckRequest& request,
                       Findings& findings);

// Settings against each other, the rows there are, the output folder, the disk and the memory.
// `given` says which settings the user chose.
struct RunReport {
  int64_t steps = 0;  // optimizer steps; 0: not known
  int64_t memory_bytes = 0, memory_limit_bytes = 0;
  int64_t disk_bytes = 0, disk_free_bytes = 0;
};
RunReport check_run(const Task& task, const Schema& given, const Pretrained& model,
                    const RowsReport& rows, Findings& findings);

}  // namespace hone
