// Checkpoints of a run that its launcher starts again after a crash. They have the run's number
// (HONE_RUN_ID). Copies in memory (host_copies.h) are in a folder that the launcher owns (HONE_RUN_MEMORY).
#pragma once

#include <string>

#include "base/core/json.h"

namespace hone {

// The folder in memory; "": the launcher keeps none.
std::string memory_folder();

// The hosts that keep each part of a copy, of those that are there. 0 asks for two, so that the state outlives the loss of
// any host.
int64_t hosts_of_copies(int64_t asked, int64_t there);

// A checkpoint's state with the number of this run, if it has one.
void note_run(Json& state);
// Whether this run wrote the checkpoint.
bool is_of_this_run(const std::string& checkpoint);

// The newest checkpoint that this run wrote into its output folder; "": none. Errors: those of
// find_checkpoints().
Result<std::string> newest_of_this_run(const std::string& output_dir);

}  // namespace hone
