// A pipeline in the forms of other engines: each step a container that runs the command that `hone
// pipeline run` runs here.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "operate/pipeline/pipeline.h"

namespace hone {

struct CompileOptions {
  std::string image;         // of the containers, with hone as /usr/bin/hone or on its PATH
  std::string deploy_image;  // with the tool that deploys: kubectl, for Vertex gcloud
  std::string root;          // pipeline_root: a URL
  std::string registry;      // that all containers reach; "": the default of hone models
  std::string project, region;
};
struct CompiledPipeline {
  OrderedJson document;
  OrderedJson platform = {};            // kfp: a second document, null without
  std::vector<std::string> notes = {};  // what the target does otherwise, a sentence each
};

// kfp: the intermediate representation of Kubeflow Pipelines 2 (PipelineSpec, 2.1.0). vertex: a
// PipelineJob of aiplatform.v1 with such a specification. argo: a Workflow. Errors: H3168.
Result<CompiledPipeline> compile_kfp(const Pipeline& pipeline, const CompileOptions& options);
Result<CompiledPipeline> compile_vertex(const Pipeline& pipeline, const CompileOptions& options);
Result<CompiledPipeline> compile_argo(const Pipeline& pipeline, const CompileOptions& options);

// What the three share.
namespace compile {

// Members that other steps read of a step's result, sorted; true: one compares it as a number.
std::vector<std::pair<std::string, bool>> results_of(const Pipeline& pipeline,
                                                     const std::string& step);
// The steps whose folders, and the (step, member) results that a step's command and condition read.
struct Reads {
  bool out = false;  // it writes into its own folder
  std::vector<std::string> folders;
  std::vector<std::pair<std::string, std::string>> results;
};
Reads reads_of(const PipelineStep& step);

// The command as the container runs it. A member that others read goes to a file by hone pipeline exec.
// `meaning` turns references to folders and results into the target's placeholders, `result_file` says
// where a member goes; a step that does so has its own folder made first. Errors: H3168 for a path of this machine.
Result<std::vector<std::string>> container_command(
    const Pipeline& pipeline, const PipelineStep& step, const CompileOptions& options,
    const std::function<std::string(const StepReference&)>& meaning,
    const std::function<std::string(const std::string& member)>& result_file);

// What a machine of Google's has: processors and GB; 0 where the type is not known.
struct MachineSize {
  double processors = 0, gigabytes = 0;
};
MachineSize machine_size(const std::string& machine_type);

bool deploys(const PipelineStep& step);  // hone deploy: each target has another way
// Flags of hone serve that its --serve_flags ask for: {"--prefix", "summarize: "}.
std::vector<std::string> serve_flags(const PipelineStep& step);
// A name that may be part of every target's identifiers: '_' for what is neither letter nor digit.
std::string identifier(const std::string& name);

}  // namespace compile
}  // namespace hone
