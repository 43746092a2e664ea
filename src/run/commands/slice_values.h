// Values of columns of a data file, by row.
#pragma once

#include "base/core/json.h"
#include "learn/data/formats/rows.h"
#include "learn/data/rows/token_rows.h"
#include "learn/harness/task.h"

namespace hone {

using ColumnValues = std::vector<OrderedJson>;  // of a column, by row

// The rows of files in the task's format. Errors: those of open_rows.
Result<std::unique_ptr<RowReader>> open_columns(const Task& task,
                                                const std::vector<std::string>& files);

// By column; each has a value for each row of the files that has all `texts`. `places` gets those of
// the rows. Errors: those of the rows, H2109 without a column.
Result<std::vector<ColumnValues>> read_columns(const Task& task,
                                               const std::vector<std::string>& files,
                                               const std::vector<std::string>& columns,
                                               const std::vector<std::string>& texts = {},
                                               std::vector<std::string>* places = nullptr);

// Leaves the values of the first `rows` of the evaluated rows, if all their places are known: a task
// may drop rows, such as those in which nothing is learnt.
void keep_places(const TokenRows& evaluated, size_t rows, const std::vector<std::string>& places,
                 std::vector<ColumnValues>& values);

}  // namespace hone
