// The command hone train --restarts N, which runs the training in a child process and starts it again after a crash.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "base/core/error.h"
#include "learn/train/settings.h"

namespace hone {

// Returns true if this process is the child process of supervise().
bool is_supervised();

// Runs `hone train` with `args` as a child process, and waits until it ends. The child is started again if it was
// killed by a signal, or ended with a Bug or a transient error (a server that cannot be reached, a damaged transfer, an
// error of the disk). Then it continues from the newest checkpoint that this run has saved. After s.restarts restarts
// without a new checkpoint, it is not started again. The pauses before restarts grow up to 60 s. Other errors, such as
// wrong settings, end the run at once.
//
// Before each start, the checkpoints in the output folder are read. If this fails, the child is not started, and the
// checkpoints are read again, up to s.restarts times. SIGTERM and SIGINT are passed to the child, which saves a
// checkpoint and ends.
//
// Returns the exit status of the child, or 128 + signal, and reports the child's error (base/core/error_report.h).
// Errors: H0004 the child cannot be started, those of the store of the output folder.
Result<int> supervise(const std::vector<std::string>& args, const TrainSettings& s);

// The checkpoints in a folder, each identified by a text. The text is another one if a new checkpoint has replaced the
// old one under the same name. Errors: those of find_checkpoints().
Result<std::set<std::string>> marks_of_checkpoints(const std::string& folder);
// The path of the newest checkpoint that can be resumed and is not in `before`, a result of marks_of_checkpoints(). "":
// there is none.
Result<std::string> newest_since(const std::string& folder, const std::set<std::string>& before);

}  // namespace hone
