// Columns of a table for the metrics that decide which of its rows is the best.
#pragma once

#include <string>
#include <vector>

#include "base/core/table.h"
#include "operate/registry/measured_rows.h"

namespace hone {

inline constexpr const char* kMarkNote = "* marks the best value";

// Columns for the metrics that decide, the most frequent first. The best value is marked if all were measured on the
// same rows.
struct MetricColumns {
  std::vector<Column> columns = {};
  std::vector<std::vector<std::string>> cells = {};  // of each row
  std::string note = {};  // for the table: what a mark means, and why a column has none
};
MetricColumns metric_columns(const std::vector<MeasuredRow>& rows);

std::string metric_text(double value);  // five digits, large numbers whole

}  // namespace hone
