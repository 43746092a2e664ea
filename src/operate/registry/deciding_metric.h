// Chooses the metric by which runs or model versions are compared, for tables and for the pages of hone ui.
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

// Returns the first metric of this list that `metrics` has; nullopt if it has none of them.
//   1. `wanted`, the metric of a policy; "": none
//   2. the metric that the setting metric_for_best_model names
//   3. the usual metric of the task, then "loss", then the other metrics of the task
//   4. "train_loss"
// For the name "loss", eval_loss_per_token takes precedence over eval_loss, because decisions use the loss per token.
std::optional<DecidingMetric> deciding_metric(const OrderedJson& metrics, const std::string& task,
                                              const OrderedJson& settings,
                                              const std::string& wanted = "");
// The deciding metric of a run that has a log. nullopt if it would be train_loss: tables have another column for
// train_loss.
std::optional<DecidingMetric> metric_of_run(const RunRow& row);

// {"name", "value"}; null for nullopt.
OrderedJson metric_json(const std::optional<DecidingMetric>& metric);

// The metric of the newest decision whose evidence names a metric; "" if there is none.
std::string decided_by(const std::vector<Decision>& newest_first);
// The metrics of a version, with the metrics that only its decisions computed, such as F1 from the rows of an
// evaluation.
OrderedJson metrics_with_decisions(const ModelVersion& version,
                                   const std::vector<Decision>& newest_first);

}  // namespace hone
