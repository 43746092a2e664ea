// The task that a command's arguments ask for.
#pragma once

#include <string>
#include <vector>

#include "base/settings/settings.h"

namespace hone {

// The requested task, and the setting that names it.
struct AskedTask {
  std::string flag = "task", name = {};
};

// The last --task or --preset.
AskedTask named_by_flags(const std::vector<std::string>& args);

// The task that the model of the arguments was trained on (hone_task.json of --model_name_or_path or of the adapter);
// "": unknown, or the model is not a folder of this machine. H2210.
Result<std::string> task_of_model(const std::vector<std::string>& args);

// The argument that is a misspelt --task or --preset; none: there is no such argument.
std::vector<std::string> misspelt_task(const std::vector<std::string>& args);

// The error of a command without a task, whose `schema` has the settings of all tasks; `about`: what a task is for it.
// Errors: H0206 arguments that no setting takes, which may be the missing model or data; else H0207.
Error without_task(const Schema& schema, const std::string& about,
                   const std::vector<std::string>& args);

}  // namespace hone
