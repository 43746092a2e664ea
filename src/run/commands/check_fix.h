// The command hone check --fix, which writes clean copies of data files.
#pragma once

#include <string>

#include "learn/harness/task.h"

namespace hone {

// Writes a UTF-8 copy of each text file in train_file and validation_file into `folder`, and prints the changes, as
// JSON if `json` is true. Returns the exit status: kExitUserError if some bytes were not text and became U+FFFD, else
// kExitDone. Errors: H3006 the settings name no files, H3008 a copy exists already, those of the store.
Result<int> fix_files(const Task& task, const std::string& folder, bool json);

}  // namespace hone
