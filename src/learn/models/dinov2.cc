// DINOv2 (Oquab et al. 2023, arXiv 2304.07193): ViT's blocks with scales by channel; the class by the first token and the
// mean of the patches. Images may have other sizes than those that the positions were learnt for.
#include "learn/models/errors.h"
#include "learn/models/image_layers.h"
#include "learn/models/vit_blocks.h"

namespace hone {
namespace {

// Defaults of Transformers' config class.
constexpr const char* kUsualDinov2 =
    R"({"hidden_size": 768, "num_hidden_layers": 12, "num_attention_heads": 12, "mlp_ratio": 4,
    "hidden_act": "gelu", "hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0,
    "initializer_range": 0.02, "layer_norm_eps": 1e-06, "image_size": 224, "patch_size": 14,
    "num_channels": 3, "qkv_bias": true, "layerscale_value": 1.0, "drop_path_rate": 0.0,
    "use_swiglu_ffn": false, "apply_layernorm": true, "reshape_hidden_states": true,
    "use_mask_token": true})";

Status read_dinov2_config(ModelConfig& c) {
  if (c.flag("use_swiglu_ffn", false))
    return Error(err::kConfigNotOffered, "config.json: use_swiglu_ffn is not supported")
        .todo("take the small, base or large model");
  if (!c.config.contains("patch_size")) c.config["patch_size"] = 14;
  HONE_TRY(read_vit_config(c));
  const double ratio = c.real("mlp_ratio", 4);
  HONE_TRY(check_range("'mlp_ratio'", static_cast<int64_t>(ratio), 1, 1024));
  return Ok{};
}

ValueId dinov2_body(ModelGraph& g) {
  if (g.declaring() && g.config.flag("use_mask_token", true)) {  // of the pretraining
    ParamSpec spec{"dinov2.embeddings.mask_token", {1, g.config.hidden}, ParamSpec::Init::zeros};
    spec.trained = false;
    g.weight(std::move(spec));
  }
  return vit_body(g, {.prefix = "dinov2.", .dino = true});
}

}  // namespace

Family family_dinov2() {
  Family f = vit_family(
      {.name = "dinov2", .model_types = {{"dinov2", "Dinov2", kUsualDinov2}}, .body = dinov2_body});
  f.read_config = read_dinov2_config;
  f.image_processor = "ConvNextImageProcessor";
  f.dropouts.push_back("drop_path_rate");
  f.unread.clear();
  f.layout = nullptr;
  return f;
}

}  // namespace hone
