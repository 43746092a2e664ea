// Finds the decision about the model of a pipeline's run, for the table of runs.
#pragma once

#include "operate/pipeline/state.h"
#include "run/commands/metric_columns.h"

namespace hone {

struct RunVerdict {
  std::string verdict, reason;           // from the last step with a verdict; "": none
  std::optional<DecidingMetric> metric;  // the metric of the decision, with its value
  OrderedJson evaluated = {};            // facts about the evaluated rows, for rows_alike()
};
// Reads the decision from the results of the steps, whose folders are in `root`/<id of the run>. If no step has a
// verdict, the metric is the one of the run's policy, else the one of its task.
RunVerdict verdict_of(const std::string& root, const PipelineRunRow& run,
                      const std::vector<StepRow>& steps);

}  // namespace hone
