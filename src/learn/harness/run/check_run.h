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
  // Memory and disk space that the run needs, and that it may use.
  int64_t memory_bytes = 0, memory_limit_bytes = 0;
  int64_t disk_bytes = 0, disk_free_bytes = 0;
};
// Checks settings that contradict each other, the number of rows, the output folder, the disk and the memory. `given`:
// the schema that knows which settings the user gave. `rows`: the result of checking the rows.
RunReport check_run(const Task& task, const Schema& given, const Pretrained& model,
                    const RowsReport& rows, Findings& findings);

}  // namespace hone
