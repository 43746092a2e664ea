// Removes secrets from the output and the log of a step on disk.
#pragma once

#include <string>

#include "base/store/store.h"

namespace hone {

// Applies redact_text() to each line of the file, and rewrites the file if a line changes. No process may write to the
// file during the call. A missing file is not an error. Errors: those of the store.
Status redact_file(Store& store, const std::string& path);

}  // namespace hone
