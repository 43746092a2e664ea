// The metric that decides which of several runs or versions is the best, for their tables.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/core/json.h"
#include "base/core/table.h"
#include "operate/registry/registry.h"

namespace hone {

struct DecidingMetric {
  std::string name;  // "eval_rougeL"
  double value = 0;
};

// The first of these that `metrics` has: `wanted` (of a policy; "": none), metric_for_best_model of
// the settings, the metric of the task, the losses. `loss` is eval_loss_per_token if there is one, as in decisions.
std::optional<DecidingMetric> deciding_metric(const OrderedJson& metrics, const std::string& task,
                                              const OrderedJson& settings,
                                              const std::string& wanted = "");

// The metrics of a version with those that only decisions computed, such as F1 from the rows of an evaluation.
OrderedJson metrics_with_decisions(const ModelVersion& version,
                                   const std::vector<Decision>& newest_first);

// A row of a table: the metric that decides, all of its metrics, and what decides the rows that they are of.
struct MeasuredRow {
  std::optional<DecidingMetric> metric = {};
  OrderedJson metrics = {};
  OrderedJson evaluated = {};
};

// Columns for the metrics that decide, the most frequent first. The best value is marked if all were measured on the
// same rows.
struct MetricColumns {
  std::vector<Column> columns = {};
  std::vector<std::vector<std::string>> cells = {};  // of each row
  std::string note = {};  // for the table: why a column has no mark; "": each that could has one
};
MetricColumns metric_columns(const std::vector<MeasuredRow>& rows);

std::string metric_text(double value);  // five digits, large numbers whole

}  // namespace hone
