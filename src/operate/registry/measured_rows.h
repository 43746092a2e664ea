// Checks whether several runs or model versions measured a metric on the same rows of data. Only then can one value be
// called the best.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "operate/monitor/run_list.h"
#include "operate/registry/compare_versions.h"
#include "operate/registry/deciding_metric.h"

namespace hone {

// One run or version, a line of a table.
struct MeasuredRow {
  // The metric by which the run or version is compared; nullopt: none.
  std::optional<DecidingMetric> metric = {};
  OrderedJson metrics = {};  // all its metrics, an object: name -> value
  // Identifies the rows of data that were evaluated: a result of evaluated_by() (compare_versions.h).
  OrderedJson evaluated = {};
};

// The value of a metric; nullopt if the run or version does not have it.
std::optional<double> value_in(const MeasuredRow& row, const std::string& name);
// Whether all runs or versions that have the metric measured it on the same rows. Metrics of training ("train_...")
// always count as the same.
RowsAlike measured_alike(const std::vector<MeasuredRow>& rows, const std::string& name);
// The reason why no value is called the best: "the runs were evaluated on different rows". "" for RowsAlike::kSame.
std::string no_best_text(RowsAlike alike);

// Identifies the rows of data that a run with a log evaluated, by the names of its files (compare_versions.h).
OrderedJson evaluated_by(const RunRow& row);

}  // namespace hone
