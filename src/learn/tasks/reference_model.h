// Log-probabilities of answers under the reference model of preference tasks. They are computed once,
// with the run's own evaluation programs, before the first step: the weights are then those that the run
// starts from, also if it continues from a checkpoint, and a new adapter adds nothing yet. So there is no
// second model in memory.
#pragma once

#include <string>

#include "learn/harness/run/task_run.h"

namespace hone {

// Runs the rows [begin, end) with the weights of the folder or hub name; "": of the run. False: a stop
// was requested. Errors: those of open_pretrained; H2440 a reference of other sizes, or one beside an
// adapter; those of evaluate_rows.
Result<bool> evaluate_reference(TaskRun& run, const std::string& reference, int64_t begin,
                                int64_t end, EvalMetrics& metrics);

}  // namespace hone
