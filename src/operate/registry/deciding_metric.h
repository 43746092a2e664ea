// The metric that decides which of several runs or versions is the best: for their tables, and for the pages of hone ui.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/core/json.h"
#include "operate/monitor/run_list.h"
#include "operate/registry/registry.h"

namespace hone {

struct DecidingMetric {
  std::string name;  // "eval_rougeL"
  double value = 0;
};

// The first of these that `metrics` has: `wanted` (of a policy; "": none), metric_for_best_model of
// the settings, the metric of the task, its loss, its other metrics, the loss of training. `loss` is eval_loss_per_token if there is one, as in decisions.
std::optional<DecidingMetric> deciding_metric(const OrderedJson& metrics, const std::string& task,
                                              const OrderedJson& settings,
                                              const std::string& wanted = "");
// That of a run with a log; none if the run has only the loss of training, which has a column of its own.
std::optional<DecidingMetric> metric_of_run(const RunRow& row);

// {"name", "value"}; null: there is none.
OrderedJson metric_json(const std::optional<DecidingMetric>& metric);

// The metric of the last decision that names one; "": none does.
std::string decided_by(const std::vector<Decision>& newest_first);
// The metrics of a version with those that only decisions computed, such as F1 from the rows of an evaluation.
OrderedJson metrics_with_decisions(const ModelVersion& version,
                                   const std::vector<Decision>& newest_first);

}  // namespace hone
