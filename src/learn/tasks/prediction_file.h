// Writes files of predictions in the form of Transformers' example script run_glue.
#pragma once

#include <span>
#include <string>

#include "base/core/error.h"

namespace hone {

// Writes the file predict_results_<task>.txt or, if `task` is "", predict_results.txt into the folder. After a header
// line it has a line for each row: number of the row from 0, a tab, the prediction.
Status write_predictions(const std::string& folder, const std::string& task,
                         std::span<const std::string> predictions);

}  // namespace hone
