// A program that goes its own way: it outlives the one that starts it.
#pragma once

#include <string>
#include <vector>

#include "base/core/error.h"

namespace hone {

// Starts argv[0] (a path) in a session of its own, with no standard input, and with both outputs appended to
// the log, whose folder is made. Gives its process number; Error H0004 where it cannot be started.
Result<int64_t> start_detached(const std::vector<std::string>& argv, const std::string& log);

}  // namespace hone
