// Finds the task (what a model is trained for, such as clm) that the arguments of a command request.
#pragma once

#include <string>
#include <vector>

#include "base/settings/settings.h"

namespace hone {

// The requested task: the flag that names it ("task" or "preset"), and the name of the task ("": none is requested).
struct AskedTask {
  std::string flag = "task", name = {};
};

// The value of the last flag --task or --preset among the arguments.
AskedTask named_by_flags(const std::vector<std::string>& args);

// The task on which the model in the arguments was trained, from the file hone_task.json in the folder of
// --adapter_name_or_path, else of --model_name_or_path. "": the task is unknown, or the model is not a folder of this
// machine. Error H2210 if the file is damaged.
Result<std::string> task_of_model(const std::vector<std::string>& args);

// A vector with the argument that is a misspelt --task or --preset; empty if there is none.
std::vector<std::string> misspelt_task(const std::vector<std::string>& args);

// The error for a command line without a task. `schema` has the settings that all tasks share; `about` explains what a
// task means for this command. The error is H0206 if an argument belongs to no setting (it may be a model or a data
// file whose flag is missing); else H0207.
Error without_task(const Schema& schema, const std::string& about,
                   const std::vector<std::string>& args);

}  // namespace hone
