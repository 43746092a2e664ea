// Translates a pipeline into the intermediate representation of Kubeflow Pipelines 2 (PipelineSpec, 2.1.0), which
// Vertex AI Pipelines runs too. https://github.com/kubeflow/pipelines, api/v2alpha1/pipeline_spec.proto
#pragma once

#include "operate/pipeline/compile/compile.h"

namespace hone {

// If `vertex`, the document uses Vertex AI's names of GPUs, and the step deploy deploys to Vertex AI. Error H3168: the
// pipeline cannot be expressed in this form.
Result<CompiledPipeline> kfp_spec(const Pipeline& pipeline, const CompileOptions& options,
                                  bool vertex);

}  // namespace hone
