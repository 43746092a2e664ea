// The output and log of a step on disk, without secrets.
#pragma once

#include <string>

#include "base/store/store.h"

namespace hone {

// Writes the file again with each line as redact_text() has it, if that changes a line. Nobody may write to it. A missing
// file is not an Error.
Status redact_file(Store& store, const std::string& path);

}  // namespace hone
