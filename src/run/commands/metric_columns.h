// Makes the metric columns of a table of models or runs: the metrics by which the rows of the table are compared.
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
// Makes one column for each metric by which a row is compared, the most frequent metric first. The best value of a
// column is marked if all its values were measured on the same data. If there are more than two metrics, makes only one
// column "metric", whose cells have the name and the value of the row's metric.
MetricColumns metric_columns(const std::vector<MeasuredRow>& rows);

std::string metric_text(double value);  // five significant digits; from 1e5 to 1e15 a whole number

}  // namespace hone
