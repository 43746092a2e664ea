// Checks a run before it starts, for `hone check`: its settings, rows, output folder, disk and memory.
#pragma once

#include "learn/check/check_rows.h"
#include "learn/harness/budget/memory.h"

namespace hone {

// Checks the rows of a task that trains on plain text (learn/check/check_rows.h). Faults and Errors become findings.
RowsReport check_texts(const TaskSettings& s, const TextSource& text, const CheckRequest& request,
                       Findings& findings);

struct RunReport {
  int64_t steps = 0;  // optimizer steps of the run; 0: unknown
  // memory_bytes: memory that the run needs. memory_limit_bytes: memory that it may use.
  int64_t memory_bytes = 0, memory_limit_bytes = 0;
  // disk_bytes: disk space that the run needs. disk_free_bytes: free space on that disk.
  int64_t disk_bytes = 0, disk_free_bytes = 0;
};
// Adds findings of settings that contradict each other, too few rows, an output folder that cannot be used, and too
// little space on the disk or in memory. `given`: the schema that knows which settings the user gave. `rows`: the
// result of checking the rows.
RunReport check_run(const Task& task, const Schema& given, const Pretrained& model,
                    const RowsReport& rows, Findings& findings);

}  // namespace hone
