// DeiT (Touvron et al. 2020, arXiv 2012.12877): ViT with a second token, which learns from a teacher and whose output
// ForImageClassification does not read.
#include "learn/models/vit_blocks.h"

namespace hone {
namespace {

// Defaults of Transformers' config class.
constexpr const char* kUsualDeit =
    R"({"hidden_size": 768, "num_hidden_layers": 12, "num_attention_heads": 12,
    "intermediate_size": 3072, "hidden_act": "gelu", "hidden_dropout_prob": 0.0,
    "attention_probs_dropout_prob": 0.0, "initializer_range": 0.02, "layer_norm_eps": 1e-12,
    "image_size": 224, "patch_size": 16, "num_channels": 3, "qkv_bias": true, "encoder_stride": 16,
    "pooler_output_size": 768, "pooler_act": "tanh"})";

}  // namespace

Family family_deit() {
  return vit_family(
      {.name = "deit", .model_types = {{"deit", "DeiT", kUsualDeit}}, .body = [](ModelGraph& g) {
         return vit_body(g, {.prefix = "deit.", .distils = true});
       }});
}

}  // namespace hone
