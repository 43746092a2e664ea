// hone check --fix: clean copies of data files.
#pragma once

#include <string>

#include "learn/harness/task.h"

namespace hone {

// Writes a UTF-8 copy of each data file of the settings into the folder, and prints what was mended. The
// exit status: an error if bytes were lost. Errors: H3006 no files, H3008 a copy exists, those of the
// store.
Result<int> fix_files(const Task& task, const std::string& folder, bool json);

}  // namespace hone
