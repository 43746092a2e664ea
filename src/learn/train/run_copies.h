// Recognizes the checkpoints of a run that its launcher (`hone launch`) starts again after a crash. The launcher gives
// the run an id in the environment variable HONE_RUN_ID, which is stored in each checkpoint, and a folder in memory for
// in-memory checkpoints (host_copies.h) in HONE_RUN_MEMORY.
#pragma once

#include <string>

#include "base/core/json.h"

namespace hone {

// The folder for in-memory checkpoints; "": the launcher has created none.
std::string memory_folder();

// The number of hosts that keep each part of an in-memory checkpoint. `asked`: --memory_save_hosts; 0 means two, so the
// state survives the loss of any host. `there`: number of hosts of the run, which is the largest result.
int64_t hosts_of_copies(int64_t asked, int64_t there);

// Adds the id of this run to the state of a checkpoint. Does nothing if the run has no id.
void note_run(Json& state);
// Whether this run wrote the checkpoint. False if the run has no id.
bool is_of_this_run(const std::string& checkpoint);

// The path of the newest checkpoint in the output folder that this run wrote; "": none. Errors: those of
// find_checkpoints().
Result<std::string> newest_of_this_run(const std::string& output_dir);

}  // namespace hone
