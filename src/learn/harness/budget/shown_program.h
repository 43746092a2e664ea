// Single programs of a run or of a model, stopped after any pass: what `hone graph` prints.
#pragma once

#include "learn/harness/budget/programs.h"

namespace hone {

struct ProgramWanted {
  std::string name;               // "step.512+128", or its kind: "step"
  int64_t tokens = 0, slots = 0;  // of a micro-batch; 0: what the name says, or the run plans
};

struct FoundProgram {
  std::optional<RunProgram> program;
  std::vector<std::string> names;  // if there is none: the programs that there are
};
Result<FoundProgram> find_program(const TaskModel& m, const ProgramWanted& wanted);

// A program of generation, which no task owns: "prefill" or "decode". The prefill of an
// encoder-decoder encodes.
RunProgram cached_program(const ModelConfig& config, const ProgramWanted& wanted);

// "build", the passes of the program, "lower".
std::vector<std::string> stages_of(const RunProgram& p);
// Runs the passes up to `after`, one of these; "": all but "lower".
Result<std::vector<PassRecord>> run_until(RunProgram& p, const std::string& after,
                                          const std::set<std::string>& off, const Backend& backend);

}  // namespace hone
