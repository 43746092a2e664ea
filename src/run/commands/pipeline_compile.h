// hone pipeline compile: a pipeline as a file of another engine.
#pragma once

#include "operate/pipeline/compile/compile.h"

namespace hone {

// The values of --to: "" and the engines.
std::vector<std::string> engine_choices();
std::string engines_help();  // "engine: argo (Argo Workflows), ..."

// Writes it to `output`, as JSON if the name ends in .json, else as YAML; "": to standard output. Logs
// the notes under the engine's name. Returns the exit status. Errors: those of the store.
Result<int> write_compiled(const std::string& engine, const CompiledPipeline& c,
                           const std::string& output);

}  // namespace hone
