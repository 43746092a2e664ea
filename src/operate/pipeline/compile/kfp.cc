// Kubeflow Pipelines 2.
#include "operate/pipeline/compile/kfp_spec.h"

namespace hone {

PipelineEngine pipeline_engine_kfp() {
  return {.name = "kfp",
          .about = "Kubeflow Pipelines 2",
          .compile = [](const Pipeline& pipeline, const CompileOptions& options) {
            return kfp_spec(pipeline, options, false);
          }};
}

}  // namespace hone
