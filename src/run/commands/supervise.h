// hone train --restarts N: the run as a child that is started again after a crash.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "base/core/error.h"
#include "learn/train/settings.h"

namespace hone {

// True in the child of a supervisor.
bool is_supervised();

// Runs `hone train args` as a child until it ends by itself. It is started again when it was killed,
// ended by a bug, or ended by a transient error (a server that is away, a damaged transfer, an error of
// the disk). It continues from the newest checkpoint that was saved
// meanwhile. It is given up after s.restarts such ends in a row without a new checkpoint, and pauses
// between them grow. If the checkpoints of the output folder cannot be read, nothing is started: the folder is read
// again, at most as often. A user's mistake is not repeated. SIGTERM and SIGINT are handed to the child, which saves
// and ends. Returns the child's exit status, and reports its error; 128 and the signal when it was killed. Errors:
// H0004 it cannot be started, those of the store where the output folder is.
Result<int> supervise(const std::vector<std::string>& args, const TrainSettings& s);

// The checkpoints of a folder, each with a mark that changes if another one replaces it. Errors:
// those of find_checkpoints(); the checkpoints are then unknown.
Result<std::set<std::string>> marks_of_checkpoints(const std::string& folder);
// The path of the newest resumable checkpoint that is not among those of `before`; "" without one.
Result<std::string> newest_since(const std::string& folder, const std::set<std::string>& before);

}  // namespace hone
