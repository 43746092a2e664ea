// Translates a pipeline for other pipeline engines, such as Kubeflow Pipelines or Argo. Each step becomes a container
// that runs the same command as in `hone pipeline run`.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "operate/pipeline/pipeline.h"

namespace hone {

struct CompileOptions {
  // Container image of the steps, with hone as /usr/bin/hone or on its PATH.
  std::string image;
  // Container image of the step deploy, with kubectl or (Vertex AI) gcloud; "": a public image.
  std::string deploy_image;
  std::string root;  // pipeline_root: a URL
  // Address of a registry that all containers can reach; "": none is given.
  std::string registry;
  std::string project, region;  // of Google Cloud
};
struct CompiledPipeline {
  OrderedJson document;                 // the pipeline in the engine's form
  OrderedJson platform = {};            // Kubeflow's platform_spec, a second document; null: none
  std::vector<std::string> notes = {};  // differences from `hone pipeline run`, one sentence each
};

// A target engine. Each .cc file of this folder without a header of the same name is one, and defines
// `PipelineEngine pipeline_engine_<file>();`.
struct PipelineEngine {
  std::string name;   // value of --to
  std::string about;  // for help: the engine's own name
  // Error H3168: the pipeline cannot be expressed in the engine's form.
  std::function<Result<CompiledPipeline>(const Pipeline&, const CompileOptions&)> compile;
};
// All engines, sorted by the names of their files.
std::vector<PipelineEngine> all_pipeline_engine();
std::vector<std::string> pipeline_engine_names();

// `engine` must be one of pipeline_engine_names(). Error H3168: the pipeline cannot be expressed in the engine's form.
Result<CompiledPipeline> compile_pipeline(const std::string& engine, const Pipeline& pipeline,
                                          const CompileOptions& options);

// Shared parts of the engines.
namespace compile {

// The members of a step's result that other steps read, sorted by name. The bool is true if a condition compares the
// member as a number.
std::vector<std::pair<std::string, bool>> results_of(const Pipeline& pipeline,
                                                     const std::string& step);
// The references in a step's command and condition.
struct Reads {
  bool out = false;                  // the step's own folder: ${out}
  std::vector<std::string> folders;  // names of steps whose folders it reads
  // (step, member) of results that it reads.
  std::vector<std::pair<std::string, std::string>> results;
};
Reads reads_of(const PipelineStep& step);

// The command of a step's container. If other steps read members of the step's result, the command is wrapped in
// `hone pipeline exec`, which creates the step's folder and writes each member to the file `result_file(member)`.
// `meaning` turns a reference to a folder or result into the engine's own form. Error H3168: an input is a path of
// this machine, another step reads a nested member, or a step needs the registry and `options.registry` is "".
Result<std::vector<std::string>> container_command(
    const Pipeline& pipeline, const PipelineStep& step, const CompileOptions& options,
    const std::function<std::string(const StepReference&)>& meaning,
    const std::function<std::string(const std::string& member)>& result_file);

// The size of one of Google Cloud's machine types; zeros if the type is unknown.
struct MachineSize {
  double processors = 0, gigabytes = 0;  // virtual processors; memory in GB
};
MachineSize machine_size(const std::string& machine_type);

// Environment variables in Kubernetes' form: [{"name", "value"}].
OrderedJson variables_of(const std::map<std::string, std::string>& environment);

// Whether the step runs hone launch with ranks on several machines, so not all ranks are in its container.
bool starts_ranks_elsewhere(const PipelineStep& step);
// Whether the step runs hone deploy. Engines replace its command, because each engine deploys in its own way.
bool deploys(const PipelineStep& step);
// The flags of hone serve in the step's --serve_flags, as words: {"--prefix", "summarize: "}.
std::vector<std::string> serve_flags(const PipelineStep& step);
// A name that every engine accepts as an identifier: '_' replaces everything but letters and digits.
std::string identifier(const std::string& name);

}  // namespace compile
}  // namespace hone
