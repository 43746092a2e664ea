// A recipe: one JSON object from which hone makes a whole pipeline, from data to an endpoint, for any task. It has one
// of two forms. Either its keys are in one flat object, as in
//
//   {"dataset": "cnn_dailymail", "dataset_subset": "3.0.0", "document_column": "article",
//    "summary_column": "highlights", "model_checkpoint": "t5-small", "batch_size": 128, "epochs": 1,
//    "cluster_prefix": "t5node", "zone": "us-central1-a", "node_count": 1,
//    "machine_type": "a2-highgpu-1g", "gpu_type": "nvidia-tesla-a100", "gpu_count": 1,
//    "model_display_name": "t5", "deploy_machine_type": "n1-standard-32",
//    "deploy_gpu_type": "NVIDIA_TESLA_V100", "deploy_gpu_count": 4}
//
// or these keys are in the inner objects cluster_config, train_config and deploy_config. The key `task` names the task
// (default: summarization). The objects preprocess, train, generate and evaluate have flags of the commands. The object
// policy is the policy of hone models decide.
#pragma once

#include "operate/pipeline/pipeline.h"
#include "operate/pipeline/recipe/recipe_task.h"

namespace hone {

struct ConfigTree;

// Makes the steps download, check, preprocess (unless the task reads its rows as they are), train, evaluate, register,
// should-deploy, and deploy (only if the task is served). Errors: H3161 a value, path, metric or column does not fit;
// H3162 a key or flag is unknown, not allowed or given twice; those of `find_task` and of RecipeTask::policy.
Result<Pipeline> recipe_pipeline(const ConfigTree& tree, const FindRecipeTask& find_task);

}  // namespace hone
