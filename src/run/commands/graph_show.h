// The output of hone graph: a program, or a trace.
#pragma once

#include "base/settings/settings.h"
#include "learn/harness/budget/programs.h"

namespace hone {

// Settings of the output, for a model or, with --task, a run.
struct ShowSettings {
#define HONE_SETTINGS "run/commands/graph_show.def"
#include "base/settings/fields.inc"
};

// Prints the program after its passes. Errors: H3006 for a pass that it does not have; those of
// compiling.
Status show_program(const ShowSettings& s, RunProgram p, const Backend& backend);
// The program of a run that the settings name. Errors: H3006 with the names that there are.
Result<RunProgram> program_of_run(const ShowSettings& s, const TaskModel& m);
// Errors: H3007; those of trace_task.
Status write_trace(const ShowSettings& s, const Task& task, Pretrained model,
                   const Backend& backend);

}  // namespace hone
