// Recognizes the checkpoints of a run that its launcher (`hone launch`) starts again after a crash. The launcher sets
// two environment variables: HONE_RUN_ID is an id of the run, which each checkpoint stores; HONE_RUN_MEMORY is a folder
// in memory for in-memory checkpoints (host_copies.h).
#pragma once

#include <string>

#include "base/core/json.h"

namespace hone {

// The folder for in-memory checkpoints; "": the launcher has created none.
std::string memory_folder();

// The number of hosts that keep each part of an in-memory checkpoint: `asked`, but at most `there`. `asked`:
// --memory_save_hosts; 0 counts as 2, with which the state survives the loss of one host. `there`: number of hosts of
// the run.
int64_t hosts_of_copies(int64_t asked, int64_t there);

// Adds the id of this run to `state`, the state to save in a checkpoint. Does nothing if the run has no id.
void note_run(Json& state);
// Whether the checkpoint with the path `checkpoint` has the id of this run. False if the run has no id.
bool is_of_this_run(const std::string& checkpoint);

// The path of the newest checkpoint in the output folder that has the id of this run and can be resumed; "": none.
// Errors: those of find_checkpoints().
Result<std::string> newest_of_this_run(const std::string& output_dir);

}  // namespace hone
