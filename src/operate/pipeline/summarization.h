// The summarization pipeline, from its JSON: flat, as
//   {"dataset": "cnn_dailymail", "dataset_subset": "3.0.0", "document_column": "article",
//    "summary_column": "highlights", "model_checkpoint": "t5-small", "batch_size": 128, "epochs": 1,
//    "cluster_prefix": "t5node", "zone": "us-central1-a", "node_count": 1, "machine_type": "a2-highgpu-1g",
//    "gpu_type": "nvidia-tesla-a100", "gpu_count": 1, "model_display_name": "t5",
//    "deploy_machine_type": "n1-standard-32", "deploy_gpu_type": "NVIDIA_TESLA_V100", "deploy_gpu_count": 4}
// or with the objects cluster_config, train_config and deploy_config around these keys. `task`
// names another task. The objects preprocess, train, generate and evaluate hold flags of the
// commands, policy the policy of hone models decide.
#pragma once

#include "operate/pipeline/config_tree.h"
#include "operate/pipeline/pipeline.h"

namespace hone {

// Steps download, preprocess, train, evaluate, register, should-deploy, deploy. Errors: H3161,
// H3162.
Result<Pipeline> summarization_pipeline(const ConfigTree& tree);

// hone plan's name for a cloud's GPU ("nvidia-tesla-a100" -> "A100-40GB"); "" for others.
std::string planned_device(const std::string& gpu_type);

}  // namespace hone
