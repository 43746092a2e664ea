// The command hone check --fix, which writes copies of data files in clean UTF-8.
#pragma once

#include <string>

#include "learn/harness/task.h"

namespace hone {

// Writes a UTF-8 copy of each text file that the settings train_file and validation_file name into `folder`. Prints the
// changes, as JSON if `json` is true. Returns the exit status: kExitUserError if some bytes were not text and became
// U+FFFD, else kExitDone. Errors: H3006 the settings name no files, H3008 a copy exists already, those of the store.
Result<int> fix_files(const Task& task, const std::string& folder, bool json);

}  // namespace hone
