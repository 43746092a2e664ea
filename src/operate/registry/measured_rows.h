// Whether the values of a metric are of the same rows: only then one of them is the best.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "operate/monitor/run_list.h"
#include "operate/registry/compare_versions.h"
#include "operate/registry/deciding_metric.h"

namespace hone {

// A run or a version: the metric that decides, all of its metrics, and what decides the rows that they are of.
struct MeasuredRow {
  std::optional<DecidingMetric> metric = {};
  OrderedJson metrics = {};
  OrderedJson evaluated = {};
};

std::optional<double> value_in(const MeasuredRow& row, const std::string& name);
// Whether all values of a metric are of the same rows. Training measures its own, whatever is evaluated.
RowsAlike measured_alike(const std::vector<MeasuredRow>& rows, const std::string& name);
// Tells why no value is the best: "the runs were evaluated on different rows"; "": one is.
std::string no_best_text(RowsAlike alike);

// The facts that decide the rows that a run with a log evaluated, with the names of its files.
OrderedJson evaluated_by(const RunRow& row);

}  // namespace hone
