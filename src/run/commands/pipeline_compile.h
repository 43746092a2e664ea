// The command hone pipeline compile, which writes a pipeline as a file for another workflow engine, such as Argo.
#pragma once

#include "operate/pipeline/compile/compile.h"

namespace hone {

// The values of --to: "" and the names of the engines.
std::vector<std::string> engine_choices();
std::string engines_help();  // the help of --to: "engine: argo (Argo Workflows), ..."

// Writes a compiled pipeline to the file `output`; "": to standard output. Writes JSON if the name of the file ends in
// .json, else YAML. Logs CompiledPipeline::notes with the name of the engine. Returns the exit status. Errors: those of
// the store.
Result<int> write_compiled(const std::string& engine, const CompiledPipeline& c,
                           const std::string& output);

}  // namespace hone
