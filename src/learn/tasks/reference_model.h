// Computes the log-probabilities of answers under the reference model of preference tasks, once, before the first step.
// The computation uses the run's own evaluation programs and session, so no second model is in memory.
//
// Without --ref_model_name_or_path the reference is the model with the weights from which the run first starts. Call
// evaluate_reference() from Examples::opened: at that time the session has these weights, because the weights of a
// checkpoint to resume from are loaded later. With a new adapter the reference is the model without the adapter: before
// its first training step, a new adapter does not change the model's outputs.
#pragma once

#include <string>

#include "learn/harness/run/task_run.h"

namespace hone {

// Evaluates the rows [begin, end) of Examples::eval with the reference's weights, and calls metrics.add() with the
// outputs of each micro-batch. `reference`: a folder or the name of a model on the hub, whose weights replace those of
// the session during the call; afterwards the session has the weights that the run starts from. "": the weights that
// the session has now. Returns false if a stop was requested before the last row. Errors: those of open_pretrained and
// of loading weights; H2440 the names or shapes of the reference's weights differ from those of the model, or
// `reference` is not "" although the model has an adapter; those of TaskRun::evaluate_rows.
Result<bool> evaluate_reference(TaskRun& run, const std::string& reference, int64_t begin,
                                int64_t end, EvalMetrics& metrics);

}  // namespace hone
