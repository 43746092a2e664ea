// The columns of a table that show the metrics by which its rows (models, runs) are compared.
#pragma once

#include <string>
#include <vector>

#include "base/core/table.h"
#include "operate/registry/measured_rows.h"

namespace hone {

inline constexpr const char* kMarkNote = "* marks the best value";

struct MetricColumns {
  std::vector<Column> columns = {};
  std::vector<std::vector<std::string>> cells = {};  // cells[i][c]: table row i, columns[c]
  // A note for the table: the meaning of the mark, and the reason why a column has no mark.
  std::string note = {};
};
// One column for each metric by which a row is compared, the most frequent metric first. The best value is marked if
// all values were measured on the same data. If there are more than two metrics, there is one column `metric` with
// name and value instead.
MetricColumns metric_columns(const std::vector<MeasuredRow>& rows);

std::string metric_text(double value);  // five digits; from 1e5 on a whole number

}  // namespace hone
