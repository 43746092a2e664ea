// Data that the flags name.
#pragma once

#include <string>
#include <vector>

#include "run/commands/task_choice.h"

namespace hone {

// Refuses files of this machine that do not exist, before a model is downloaded for them. URLs and patterns are
// accepted. Errors: H2101.
Status check_data_files(const std::vector<std::string>& files);
// The same for the files that a run with these settings reads.
Status check_data_files(const TaskSettings& s);
// Refuses a training whose flags name no data, before the model is asked for at the hub. Errors: H2101.
Status check_data_named(const ChosenTask& chosen);

}  // namespace hone
