// Granite 3 (IBM): Llama's blocks with four multipliers: of embeddings, attention scores, what
// sublayers give, and logits.
#include "learn/models/errors.h"
#include "learn/models/llama_blocks.h"

namespace hone {
namespace {

// Defaults of Transformers' config class.
constexpr const char* kUsualGranite =
    R"({"vocab_size": 32000, "hidden_size": 4096, "intermediate_size": 11008,
    "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": null,
    "hidden_act": "silu", "max_position_embeddings": 2048, "initializer_range": 0.02,
    "rms_norm_eps": 1e-06, "tie_word_embeddings": false, "attention_bias": false,
    "attention_dropout": 0.0, "mlp_bias": false, "embedding_multiplier": 1.0,
    "logits_scaling": 1.0, "residual_multiplier": 1.0, "attention_multiplier": 1.0,
    "pad_token_id": null, "bos_token_id": 1, "eos_token_id": 2,
    "rope_parameters": {"rope_theta": 10000.0, "rope_type": "default"}})";

LlamaStyle granite_style(const ModelConfig& c) {
  const bool bias = c.flag("attention_bias", false);
  return {.qkv_bias = bias,
          .output_bias = bias,
          .mlp_bias = c.flag("mlp_bias", false),
          .embed_scale = c.real("embedding_multiplier", 1),
          .residual_scale = c.real("residual_multiplier", 1),
          .attention_scale = c.real("attention_multiplier", 1)};
}

Status read_granite_config(ModelConfig& c) {
  HONE_TRY(read_decoder_config(c, kUsualGranite, granite_style(c)));
  for (const char* key :
       {"embedding_multiplier", "logits_scaling", "residual_multiplier", "attention_multiplier"})
    if (!(c.real(key, 0) > 0))
      return Error(err::kBadConfig,
                   fmt::format("config.json: '{}' is {}, a positive number is expected", key,
                               c.config[key].dump()));
  return Ok{};
}

HeadLayer granite_head(ModelGraph& g, ValueId hidden) {
  return llama_head(g, times(g.b, hidden, 1 / g.config.real("logits_scaling", 1)));
}

const GgufLayout* gguf_of_granite() {
  static const GgufLayout layout = [] {
    GgufLayout g = llama_gguf("granite", "");
    g.keys.push_back({"attention.scale", "attention_multiplier", true});
    g.keys.push_back({"embedding_scale", "embedding_multiplier", true});
    g.keys.push_back({"residual_scale", "residual_multiplier", true});
    g.keys.push_back({"logit_scale", "logits_scaling", true});
    g.interleaves_heads = true;
    return g;
  }();
  return &layout;
}

}  // namespace

Family family_granite() {
  return llama_family<granite_style>(
      {.name = "granite",
       .model_types =
           {{"granite", "Granite", kUsualGranite, {"q_proj", "v_proj"}, gguf_of_granite()}},
       .read_config = read_granite_config,
       .head = granite_head});
}

}  // namespace hone
