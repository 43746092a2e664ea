// ViT (Dosovitskiy et al. 2020, arXiv 2010.11929): the blocks of vit_blocks.h; the class by the first token.
#include "learn/models/vit_blocks.h"

namespace hone {
namespace {

// Defaults of Transformers' config class.
constexpr const char* kUsualVit =
    R"({"hidden_size": 768, "num_hidden_layers": 12, "num_attention_heads": 12,
    "intermediate_size": 3072, "hidden_act": "gelu", "hidden_dropout_prob": 0.0,
    "attention_probs_dropout_prob": 0.0, "initializer_range": 0.02, "layer_norm_eps": 1e-12,
    "image_size": 224, "patch_size": 16, "num_channels": 3, "qkv_bias": true, "encoder_stride": 16,
    "pooler_output_size": 768, "pooler_act": "tanh"})";

}  // namespace

Family family_vit() {
  return vit_family({.name = "vit",
                     .model_types = {{"vit", "ViT", kUsualVit}},
                     .body = [](ModelGraph& g) { return vit_body(g, {}); }});
}

}  // namespace hone
