// The shelf of presets: each file x.cc that defines `Task preset_x();` is a task with the defaults
// and flags of another program, and --preset names it.
#pragma once

#include "learn/harness/task.h"

namespace hone {

std::vector<Task> all_preset();  // by name of file

// Adds other spellings of settings. Names that the schema lacks are skipped, because the help of a
// task has only its own settings.
void add_aliases(Schema& schema,
                 const std::vector<std::pair<const char*, const char*>>& name_and_alias);
// H2417 when --job_dir is not a folder of this machine; `remedy`: what to do besides naming one.
Status check_job_dir(const std::string& job_dir, const std::string& remedy);

}  // namespace hone
