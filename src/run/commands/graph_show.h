// The output of hone graph: a program (the compiled graph of a step), or a trace (the values of a program's tensors).
#pragma once

#include "base/settings/settings.h"
#include "learn/harness/budget/programs.h"

namespace hone {

// The settings of the output.
struct ShowSettings {
#define HONE_SETTINGS "run/commands/graph_show.def"
#include "base/settings/fields.inc"
};

// Prints the program after all compiler passes, or after the pass that the settings name. Errors: H3006 the program has
// no such pass; those of the compilation.
Status show_program(const ShowSettings& s, RunProgram p, const Backend& backend);
// Finds the program with the name that the settings give, among the programs of a run. Error H3006 if there is none;
// the error lists the names of the programs.
Result<RunProgram> program_of_run(const ShowSettings& s, const TaskModel& m);
// Runs the model on rows of the task, or on the token ids in a file, and writes the values of the tensors to a file.
// Errors: H3007 the file of token ids cannot be used; those of trace_task() and of the store.
Status write_trace(const ShowSettings& s, const Task& task, Pretrained model,
                   const Backend& backend);

}  // namespace hone
