// Translates a pipeline for other engines: each step is a container with the same command as in
// `hone pipeline run`.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "operate/pipeline/pipeline.h"

namespace hone {

struct CompileOptions {
  std::string image;         // of the containers, with hone as /usr/bin/hone or on its PATH
  std::string deploy_image;  // with the deploy tool: kubectl, for Vertex gcloud
  std::string root;          // pipeline_root: a URL
  std::string registry;      // reachable from all containers; "": the default of hone models
  std::string project, region;
};
struct CompiledPipeline {
  OrderedJson document;
  OrderedJson platform = {};            // kfp: a second document; null: none
  std::vector<std::string> notes = {};  // differences of the target, one sentence each
};

// Another engine. Each file of this folder is one and defines `PipelineEngine
// pipeline_engine_<file>();` (a file x.h makes x.cc a helper).
struct PipelineEngine {
  std::string name;   // in --to
  std::string about;  // for help: the engine's own name
  // Errors: H3168.
  std::function<Result<CompiledPipeline>(const Pipeline&, const CompileOptions&)> compile;
};
std::vector<PipelineEngine> all_pipeline_engine();  // the shelf, by name of file
std::vector<std::string> pipeline_engine_names();

// `engine` is one of pipeline_engine_names(). Errors: H3168.
Result<CompiledPipeline> compile_pipeline(const std::string& engine, const Pipeline& pipeline,
                                          const CompileOptions& options);

// Shared parts of the engines.
namespace compile {

// Members of a step's result that other steps read, sorted; true: a condition compares it as a
// number.
std::vector<std::pair<std::string, bool>> results_of(const Pipeline& pipeline,
                                                     const std::string& step);
// Folders of steps, and (step, member) results, that a step's command and condition read.
struct Reads {
  bool out = false;  // it writes into its own folder
  std::vector<std::string> folders;
  std::vector<std::pair<std::string, std::string>> results;
};
Reads reads_of(const PipelineStep& step);

// The command inside the container. hone pipeline exec writes members that others read to files.
// `meaning` turns references to folders and results into the target's placeholders, `result_file`
// gives the file of a member; a step that writes members has its folder made first. Errors: H3168
// for a path of this machine.
Result<std::vector<std::string>> container_command(
    const Pipeline& pipeline, const PipelineStep& step, const CompileOptions& options,
    const std::function<std::string(const StepReference&)>& meaning,
    const std::function<std::string(const std::string& member)>& result_file);

// Size of one of Google's machine types: processors and GB; 0 if the type is unknown.
struct MachineSize {
  double processors = 0, gigabytes = 0;
};
MachineSize machine_size(const std::string& machine_type);

// Variables as a container takes them: [{"name", "value"}].
OrderedJson variables_of(const std::map<std::string, std::string>& environment);

// Runs hone launch for ranks that are not all in this container.
bool starts_ranks_elsewhere(const PipelineStep& step);
bool deploys(const PipelineStep& step);  // runs hone deploy: each target has another way
// The flags of hone serve in a step's --serve_flags: {"--prefix", "summarize: "}.
std::vector<std::string> serve_flags(const PipelineStep& step);
// A name that every target's identifiers accept: '_' for anything but letters and digits.
std::string identifier(const std::string& name);

}  // namespace compile
}  // namespace hone
