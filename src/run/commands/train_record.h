// The facts about a training run for its log and its reporters.
#pragma once

#include "operate/reporters/run_info.h"
#include "run/commands/task_choice.h"

namespace hone {

// The facts of the run that the settings request, with a new id and without secrets.
RunInfo info_of(const TaskSettings& s, const std::string& task, const Schema& schema);

// Writes a run that failed before its start, because its ranks did not come together, to the log of its output folder.
// Does nothing on ranks other than 0.
void record_refusal(const ChosenTask& chosen, const Error& error);

}  // namespace hone
