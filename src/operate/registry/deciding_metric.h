// Chooses the metric by which several runs or versions are compared, for tables and for the pages of hone ui.
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

// The first metric in this order that `metrics` has; nullopt: none.
//   1. `wanted`, from a policy; "": none
//   2. the setting metric_for_best_model
//   3. the usual metric of the task, then "loss", then the other metrics of the task
//   4. "train_loss"
// For the name "loss", eval_loss_per_token takes precedence over eval_loss, because decisions use it.
std::optional<DecidingMetric> deciding_metric(const OrderedJson& metrics, const std::string& task,
                                              const OrderedJson& settings,
                                              const std::string& wanted = "");
// The deciding metric of a run that has a log; nullopt if the run has only train_loss, which tables show in a column of
// its own.
std::optional<DecidingMetric> metric_of_run(const RunRow& row);

// {"name", "value"}; null for nullopt.
OrderedJson metric_json(const std::optional<DecidingMetric>& metric);

// The metric of the newest decision that names a metric; "": no decision does.
std::string decided_by(const std::vector<Decision>& newest_first);
// The metrics of a version, and those that only its decisions computed, such as F1 from the rows of an evaluation.
OrderedJson metrics_with_decisions(const ModelVersion& version,
                                   const std::vector<Decision>& newest_first);

}  // namespace hone
