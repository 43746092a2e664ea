// Files of predictions as run_glue writes them.
#pragma once

#include <span>
#include <string>

#include "base/core/error.h"

namespace hone {

// Writes predict_results_<task>.txt: a line for each row with its number and its prediction. `task`
// "": predict_results.txt.
Status write_predictions(const std::string& folder, const std::string& task,
                         std::span<const std::string> predictions);

}  // namespace hone
