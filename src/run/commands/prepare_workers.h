// The command hone prepare --workers N: N processes of this host share the work.
#pragma once

#include <string>
#include <vector>

#include "learn/data/shards/shared_prepare.h"
#include "run/commands/prepare_flags.h"

namespace hone {

// Returns true if --workers has started this process.
bool is_prepare_worker();

// Logs the size of the work, an estimate of the time and the disk space that it needs, and a warning if the disk is too
// small.
Status show_work(const PrepareOnly& s, const std::vector<TextPart>& parts,
                 const PrepareOptions& options, const SharedState& state, const SharedWork& work,
                 const Tokenize& tokenize);

// Starts the workers with the arguments `args` of hone prepare, and logs their progress until all have ended. A worker
// that was killed is not started again: the other workers process its items. `items` is the number of items into which
// the work in `folder` is divided. Returns the first error of a worker; Ok if this error is transient
// (Error::is_transient()).
Status run_workers(const PrepareOnly& s, const std::vector<std::string>& args,
                   const std::string& folder, int64_t items, const SharedWork& work);

}  // namespace hone
