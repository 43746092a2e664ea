// Checks a run before it starts: settings against each other, rows, disk, memory.
#pragma once

#include "learn/check/check_rows.h"
#include "learn/harness/budget/memory.h"

namespace hone {

// Checks the rows of a task that trains on plain text, with check_rows.h.
RowsReport check_texts(const TaskSettings& s, const TextSource& text, const CheckRequest& request,
                       Findings& findings);

// Checks settings against each other, the rows, the output folder, the disk and the memory.
// `given`: the settings that the user chose.
struct RunReport {
  int64_t steps = 0;  // optimizer steps; 0: unknown
  int64_t memory_bytes = 0, memory_limit_bytes = 0;
  int64_t disk_bytes = 0, disk_free_bytes = 0;
};
RunReport check_run(const Task& task, const Schema& given, const Pretrained& model,
                    const RowsReport& rows, Findings& findings);

}  // namespace hone
