// GTE (Zhang et al. 2024, arXiv 2407.19669) in the form of Transformers' own class.
#include "learn/models/gte_blocks.h"

namespace hone {
namespace {

// Defaults of Transformers' config class.
constexpr const char* kUsualGte =
    R"({"vocab_size": 250048, "hidden_size": 768, "num_hidden_layers": 12,
    "num_attention_heads": 12, "intermediate_size": 3072, "hidden_act": "gelu",
    "hidden_dropout_prob": 0.1, "attention_probs_dropout_prob": 0.0,
    "max_position_embeddings": 8192, "type_vocab_size": 1, "initializer_range": 0.02,
    "layer_norm_eps": 1e-12, "pad_token_id": 1, "classifier_dropout": null,
    "bos_token_id": null, "eos_token_id": null, "tie_word_embeddings": true,
    "rope_parameters": {"rope_theta": 160000.0, "rope_type": "default"}})";

}  // namespace

Family family_gte() {
  return gte_family({.name = "gte", .model_types = {{"gte", "Gte", kUsualGte}}});
}

}  // namespace hone
