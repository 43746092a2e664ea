// hone prepare --workers N: processes of this host that share the work.
#pragma once

#include <string>
#include <vector>

#include "learn/data/shards/shared_prepare.h"
#include "run/commands/prepare_flags.h"

namespace hone {

// True in a process that --workers started.
bool is_prepare_worker();

// Prints the size of the work, its time and the disk that it needs.
Status show_work(const PrepareOnly& s, const std::vector<TextPart>& parts,
                 const PrepareOptions& options, const SharedState& state, const SharedWork& work,
                 const Tokenize& tokenize);

// Starts the workers and shows their progress until all of them have ended; a worker that was killed is
// not started again, since the others do its items. Returns the first lasting error of a worker.
Status run_workers(const PrepareOnly& s, const std::vector<std::string>& args,
                   const std::string& folder, int64_t items, const SharedWork& work);

}  // namespace hone
