// The original download of GLUE's task MRPC: one file with the pairs of training and validation, and a file with the
// ids of the validation pairs.
#pragma once

#include <memory>
#include <string>

#include "learn/data/formats/rows.h"

namespace hone {

// Returns a reader of some of the rows of the reader `rows`. `evaluated` true: the rows whose columns `#1 ID` and
// `#2 ID`, joined by a tab, are a line of the file `dev_ids`. False: all other rows. Errors: those of reading the file
// `dev_ids`; H2109 one of the two columns is missing.
Result<std::unique_ptr<RowReader>> pick_by_dev_ids(std::unique_ptr<RowReader> rows,
                                                   const std::string& dev_ids, bool evaluated);

}  // namespace hone
