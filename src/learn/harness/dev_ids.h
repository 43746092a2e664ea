// MRPC as it was first distributed: one file of pairs for training, and the ids of those among them
// that GLUE evaluates on.
#pragma once

#include <memory>
#include <string>

#include "learn/data/formats/rows.h"

namespace hone {

// The rows whose columns `#1 ID` and `#2 ID` are a line of the file `dev_ids` (`evaluated`), or
// those whose are none. Errors: H01xx of the file, H2109 without these columns.
Result<std::unique_ptr<RowReader>> pick_by_dev_ids(std::unique_ptr<RowReader> rows,
                                                   const std::string& dev_ids, bool evaluated);

}  // namespace hone
