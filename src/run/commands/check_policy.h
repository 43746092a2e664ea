// The command hone check --policy_metric, which checks that an evaluation of the given rows can compare versions of a
// model by a metric.
#pragma once

#include <string>

#include "learn/check/check_rows.h"
#include "learn/harness/task.h"

namespace hone {

// Adds to `findings` the error H3144 if the evaluation of `rows` does not compute `metric`, and a warning if it has
// fewer than 8 rows.
void check_policy(const Task& task, const RowsReport& rows, const std::string& metric,
                  Findings& findings);

}  // namespace hone
