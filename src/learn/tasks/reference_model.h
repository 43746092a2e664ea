// Computes the log-probabilities of answers under the reference model of preference tasks: once, before the first step,
// with the run's own evaluation programs. At that time the weights are those that the run starts from, even if it then
// continues from a checkpoint, and a new adapter does not change the model yet. So no second model is in memory.
#pragma once

#include <string>

#include "learn/harness/run/task_run.h"

namespace hone {

// Evaluates the rows [begin, end) of Examples::eval with the reference's weights and adds them to `metrics`.
// `reference`: a folder or the name of a model on the hub; "": the weights of the run. False: a stop was requested.
// Errors: those of open_pretrained; H2440 the reference has other weights than the model, or the run trains an
// adapter; those of TaskRun::evaluate_rows.
Result<bool> evaluate_reference(TaskRun& run, const std::string& reference, int64_t begin,
                                int64_t end, EvalMetrics& metrics);

}  // namespace hone
