// hone check --policy_metric: whether versions of a model can be compared by an evaluation of the rows.
#pragma once

#include <string>

#include "learn/check/check_rows.h"
#include "learn/harness/task.h"

namespace hone {

// Adds an error (H3144) if the evaluation does not give the metric, and a warning if it has few rows.
void check_policy(const Task& task, const RowsReport& rows, const std::string& metric,
                  Findings& findings);

}  // namespace hone
