// Vertex AI Pipelines: a PipelineJob of aiplatform.v1 around the representation of Kubeflow Pipelines.
// https://cloud.google.com/vertex-ai/docs/reference/rest/v1/projects.locations.pipelineJobs
#include "operate/pipeline/compile/errors.h"
#include "operate/pipeline/compile/kfp_spec.h"

namespace hone {
namespace {

Result<CompiledPipeline> compile_vertex(const Pipeline& pipeline, const CompileOptions& options) {
  if (!options.root.starts_with("gs://"))
    return Error(err::kCannotCompile,
                 fmt::format("Vertex AI keeps artifacts in Google Cloud Storage, not in '{}'",
                             options.root))
        .at("--pipeline_root")
        .todo("give a gs:// URL");
  CompiledPipeline c = HONE_TRY(kfp_spec(pipeline, options, true));
  c.document = {{"displayName", pipeline.name},
                {"labels", {{"made-by", "hone"}}},
                {"pipelineSpec", c.document},
                {"runtimeConfig",
                 {{"gcsOutputDirectory", options.root},
                  {"failurePolicy", "PIPELINE_FAILURE_POLICY_FAIL_SLOW"}}}};
  return c;
}

}  // namespace

PipelineEngine pipeline_engine_vertex() {
  return {.name = "vertex", .about = "a PipelineJob of Vertex AI", .compile = compile_vertex};
}

}  // namespace hone
