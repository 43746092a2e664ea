// GLM-4 (arXiv 2406.12793): Llama's blocks with a fused gate and up projection, and half of each
// head's channels turned in pairs of neighbours.
//   glm4  norms around both sublayers
//   glm   the first GLM-4: norms before them
#include "learn/models/llama_blocks.h"

namespace hone {
namespace {

// Defaults of Transformers' config classes.
constexpr const char* kUsualGlm4 =
    R"({"vocab_size": 151552, "hidden_size": 4096, "intermediate_size": 13696,
    "num_hidden_layers": 40, "num_attention_heads": 32, "num_key_value_heads": 2,
    "head_dim": 128, "hidden_act": "silu", "attention_dropout": 0.0,
    "max_position_embeddings": 131072, "initializer_range": 0.02, "rms_norm_eps": 1.5625e-07,
    "tie_word_embeddings": false, "pad_token_id": 151329,
    "eos_token_id": [151329, 151336, 151338], "bos_token_id": null, "attention_bias": true,
    "rope_parameters": {"rope_theta": 10000.0, "rope_type": "default",
      "partial_rotary_factor": 0.5}})";

LlamaStyle glm4_style(const ModelConfig& c) {
  LlamaStyle s{.qkv_bias = c.flag("attention_bias", true),
               .rotation = {.share = 0.5, .interleaved = true},
               .fused_gate_up = true};
  if (c.text("model_type", "") == "glm") return s;
  s.attention_out_norm = "post_self_attn_layernorm";
  s.mlp_out_norm = "post_mlp_layernorm";
  return s;
}

Status read_glm4_config(ModelConfig& c) {
  return read_decoder_config(c, kUsualGlm4, glm4_style(c));
}

GgufLayout glm_gguf(const char* architecture) {
  GgufLayout g = llama_gguf(architecture, kGgufHeadSize);
  g.keys.push_back({"attention.value_length", ""});
  rename_tensors(g, {{"ffn_gate", ""}, {"ffn_up", "mlp.gate_up_proj"}});
  g.turns_part = true;
  g.finish = [](Json& config, const std::function<bool(const char*)>& has) {
    config["attention_bias"] = has("blk.0.attn_q.bias");
  };
  return g;
}

const GgufLayout* gguf_of_glm4() {
  static const GgufLayout layout = [] {
    GgufLayout g = glm_gguf("glm4");
    rename_tensors(g, {{"post_attention_norm", "post_self_attn_layernorm"},
                       {"post_ffw_norm", "post_mlp_layernorm"}});
    return g;
  }();
  return &layout;
}

const GgufLayout* gguf_of_glm() {
  static const GgufLayout layout = [] {
    GgufLayout g = glm_gguf("chatglm");
    g.unwritable = [](const ModelConfig& c) -> std::string {
      return c.heads * c.head_dim != c.hidden ? "its heads together are not the hidden size" : "";
    };
    return g;
  }();
  return &layout;
}

}  // namespace

Family family_glm4() {
  return llama_family<glm4_style>(
      {.name = "glm4",
       .model_types = {{"glm4", "Glm4", kUsualGlm4, {"q_proj", "v_proj"}, gguf_of_glm4()},
                       {"glm", "Glm", kUsualGlm4, {"q_proj", "v_proj"}, gguf_of_glm()}},
       .read_config = read_glm4_config,
       .module_order = {{"self_attn", "mlp", "input_layernorm", "post_attention_layernorm",
                         "post_self_attn_layernorm"}}});
}

}  // namespace hone
