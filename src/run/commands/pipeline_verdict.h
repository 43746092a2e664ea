// The decision of a pipeline's run, for the table of runs.
#pragma once

#include "operate/pipeline/state.h"
#include "run/commands/metric_columns.h"

namespace hone {

// The decision of a run: the verdict of one of its steps, and the metric that it was about.
struct RunVerdict {
  std::string verdict, reason;
  std::optional<DecidingMetric> metric;
  OrderedJson evaluated = {};  // facts for rows_alike()
};
// From the results of its steps, whose folders are in `root`/RUN; without a verdict the metric is that of the policy,
// else that of the task.
RunVerdict verdict_of(const std::string& root, const PipelineRunRow& run,
                      const std::vector<StepRow>& steps);

}  // namespace hone
