// The record of a training run in its log and its reporters.
#pragma once

#include "operate/reporters/run_info.h"
#include "run/commands/task_choice.h"

namespace hone {

// The facts of the run that the settings request, with a new id.
RunInfo info_of(const TaskSettings& s, const std::string& task, const Schema& schema);

// Adds a refused run, whose ranks did not come together, to the log of its output folder. On rank 0.
void record_refusal(const ChosenTask& chosen, const Error& error);

}  // namespace hone
