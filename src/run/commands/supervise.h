// The command hone train --restarts N, which runs the training in a child process and starts it again after a crash.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "base/core/error.h"
#include "learn/train/settings.h"

namespace hone {

// Returns true in the child process of supervise().
bool is_supervised();

// Runs `hone train` with `args` as a child process, and waits for its end. The child is started again if it was killed
// by a signal, or ended with a Bug or a transient error (a server that cannot be reached, a damaged transfer, an error
// of the disk). It continues from the newest checkpoint that it has saved. After s.restarts restarts without a new
// checkpoint, it is not started again. The pauses before restarts grow up to 60 s. Other errors, such as wrong
// settings, end the run at once.
//
// The child is not started while the checkpoints of the output folder cannot be read; reading is repeated up to
// s.restarts times. SIGTERM and SIGINT are passed to the child, which saves a checkpoint and ends.
//
// Returns the exit status of the child, or 128 + signal, and reports its error (base/core/error_report.h). Errors:
// H0004 the child cannot be started, those of the store of the output folder.
Result<int> supervise(const std::vector<std::string>& args, const TrainSettings& s);

// The checkpoints in a folder. Each text identifies a checkpoint; it changes if another checkpoint replaces it under
// the same name. Errors: those of find_checkpoints().
Result<std::set<std::string>> marks_of_checkpoints(const std::string& folder);
// The path of the newest checkpoint that can be resumed and is not in `before` (from marks_of_checkpoints()); "": none.
Result<std::string> newest_since(const std::string& folder, const std::set<std::string>& before);

}  // namespace hone
