// Builds single programs of a run or of a model, and stops them after any pass, for `hone graph` to print.
#pragma once

#include "learn/harness/budget/programs.h"

namespace hone {

struct ProgramWanted {
  std::string name;  // the name of a program, "step.512+128", or only its kind, "step"
  // The sizes of a micro-batch. tokens: tokens on each axis; sizes in `name` take precedence over it. slots: number of
  // sequences. 0: the size that the run plans.
  int64_t tokens = 0, slots = 0;
};

struct FoundProgram {
  std::optional<RunProgram> program;
  std::vector<std::string> names;  // if `program` is not set: the names of all programs
};
// Finds the program with the name wanted.name or, if that is a kind, the first program of this kind. Errors: those of
// list_programs.
Result<FoundProgram> find_program(const TaskModel& m, const ProgramWanted& wanted);

// A program that generates texts; it belongs to the model, not to a task. `wanted.name`: "prefill" or "decode". The
// prefill program of an encoder-decoder runs the encoder. `wanted` must have tokens and slots.
RunProgram cached_program(const ModelConfig& config, const ProgramWanted& wanted);

// The names of the stages in their order: "build", each pass of the program, "lower".
std::vector<std::string> stages_of(const RunProgram& p);
// Changes the program by running its stages up to and including `after`, a name from stages_of(); "": all passes,
// without "lower". `off`: names of passes to skip. Returns a record of each pass that ran. Errors: those of the passes
// and of lower().
Result<std::vector<PassRecord>> run_until(RunProgram& p, const std::string& after,
                                          const std::set<std::string>& off, const Backend& backend);

}  // namespace hone
