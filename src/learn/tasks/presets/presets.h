// Presets: tasks with the defaults and flags of another program. A file x.cc of this folder that defines `Task
// preset_x();` adds a preset, and `--preset x` chooses it.
#pragma once

#include "learn/harness/task.h"

namespace hone {

std::vector<Task> all_preset();  // in the order of the file names

// Adds other names for settings. `name_and_alias`: pairs of a setting and its other name. Skips settings that the
// schema does not have, because the help of a task has only its own settings.
void add_aliases(Schema& schema,
                 const std::vector<std::pair<const char*, const char*>>& name_and_alias);
// H2417 if --job_dir is not a folder of this machine. `remedy`: another way out, for the message.
Status check_job_dir(const std::string& job_dir, const std::string& remedy);

}  // namespace hone
