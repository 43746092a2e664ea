// Finds the task (what a model is trained for, such as clm) that the arguments of a command request.
#pragma once

#include <string>
#include <vector>

#include "base/settings/settings.h"

namespace hone {

// The requested task: the setting that names it ("task" or "preset"), and its name ("": none).
struct AskedTask {
  std::string flag = "task", name = {};
};

// The value of the last flag --task or --preset among the arguments.
AskedTask named_by_flags(const std::vector<std::string>& args);

// The task that the model in the arguments was trained on, from the file hone_task.json of --adapter_name_or_path, else
// of --model_name_or_path. "": it is unknown, or the model is not a folder of this machine. Error H2210 if the file is
// damaged.
Result<std::string> task_of_model(const std::vector<std::string>& args);

// A vector with the argument that is a misspelt --task or --preset; empty if there is none.
std::vector<std::string> misspelt_task(const std::vector<std::string>& args);

// The error of a command for which no task was named. `schema` has the settings that all tasks share; `about` says what
// a task means for this command. The error is H0206 if no setting takes one of the arguments, which may be a model or
// data without its flag; else H0207.
Error without_task(const Schema& schema, const std::string& about,
                   const std::vector<std::string>& args);

}  // namespace hone
