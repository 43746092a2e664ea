// Presets: tasks with the defaults and flags of another program. A file x.cc of this folder that defines `Task
// preset_x();` adds a preset, and `--preset x` chooses it.
#pragma once

#include "learn/harness/task.h"

namespace hone {

std::vector<Task> all_preset();  // in the order of the file names

// Adds other names for settings. `name_and_alias`: pairs of the name of a setting and an additional name. Skips
// settings that the schema does not have: the schema for the help of a task, for example, has only the task's own
// settings.
void add_aliases(Schema& schema,
                 const std::vector<std::pair<const char*, const char*>>& name_and_alias);
// Returns H2417 if --job_dir is a URL instead of a folder of this machine. `remedy`: the second half of the advice in
// the message, after "name a local folder and ".
Status check_job_dir(const std::string& job_dir, const std::string& remedy);

}  // namespace hone
