// The facts about a training run for its log and its reporters.
#pragma once

#include "operate/reporters/run_info.h"
#include "run/commands/task_choice.h"

namespace hone {

// The facts of the run that the settings request, without secrets. The run gets a new id (new_run_id()).
RunInfo info_of(const TaskSettings& s, const std::string& task, const Schema& schema);

// For a run that failed before its start because its ranks could not connect: writes the run and the error to the log
// in its output folder. Does nothing on ranks other than 0.
void record_refusal(const ChosenTask& chosen, const Error& error);

}  // namespace hone
