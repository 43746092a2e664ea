// Checks the data files that the flags name, before a model is downloaded for them.
#pragma once

#include <string>
#include <vector>

#include "run/commands/task_choice.h"

namespace hone {

// Error H2101 if a file of this machine does not exist. URLs and patterns such as *.csv are not checked.
Status check_data_files(const std::vector<std::string>& files);
// Checks the files that a run with these settings reads, by the function above. Error H2101 if a file does not exist.
Status check_data_files(const TaskSettings& s);
// Error H2101 if a training is requested and the flags name no data.
Status check_data_named(const ChosenTask& chosen);

}  // namespace hone
