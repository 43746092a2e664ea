// Checks the data files that the flags name, before the command downloads a model.
#pragma once

#include <string>
#include <vector>

#include "run/commands/task_choice.h"

namespace hone {

// Error H2101 if a file of this machine does not exist. URLs and patterns such as *.csv are not checked.
Status check_data_files(const std::vector<std::string>& files);
// check_data_files() for the files that a run with these settings reads: train_file if do_train is set, validation_file
// if do_eval is set. Does nothing if dataset_name is set.
Status check_data_files(const TaskSettings& s);
// Error H2101 if a training is requested and the flags name no data.
Status check_data_named(const ChosenTask& chosen);

}  // namespace hone
