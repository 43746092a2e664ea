// Reads the values of columns of data files.
#pragma once

#include "base/core/json.h"
#include "learn/data/formats/rows.h"
#include "learn/data/rows/token_rows.h"
#include "learn/harness/task.h"

namespace hone {

using ColumnValues = std::vector<OrderedJson>;  // values of one column in the order of rows

// Opens data files in the format that the task reads. Errors: those of open_rows().
Result<std::unique_ptr<RowReader>> open_columns(const Task& task,
                                                const std::vector<std::string>& files);

// Reads the values of `columns`; element c of the result has the values of columns[c]. Rows in which one of the columns
// `texts` is empty are left out. If `places` is not null, it receives the place of each row, "train.csv:7". Errors:
// those of RowReader, H2109 a column is missing.
Result<std::vector<ColumnValues>> read_columns(const Task& task,
                                               const std::vector<std::string>& files,
                                               const std::vector<std::string>& columns,
                                               const std::vector<std::string>& texts = {},
                                               std::vector<std::string>* places = nullptr);

// Removes from `values` the rows that were not evaluated, because a task may drop rows, such as rows without a label.
// Keeps the values of the first `rows` evaluated rows, which are found by their places. If the place of an evaluated
// row is not in `places`, `values` are unchanged.
void keep_places(const TokenRows& evaluated, size_t rows, const std::vector<std::string>& places,
                 std::vector<ColumnValues>& values);

}  // namespace hone
