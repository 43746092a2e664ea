// MRPC in its first form: one file of pairs for training, and the ids of the pairs that GLUE
// evaluates on.
#pragma once

#include <memory>
#include <string>

#include "learn/data/formats/rows.h"

namespace hone {

// Keeps the rows whose columns `#1 ID` and `#2 ID` are a line of the file `dev_ids` (`evaluated`),
// or all other rows. Errors: H01xx of the file, H2109 if the columns are missing.
Result<std::unique_ptr<RowReader>> pick_by_dev_ids(std::unique_ptr<RowReader> rows,
                                                   const std::string& dev_ids, bool evaluated);

}  // namespace hone
