// OLMo 2 (arXiv 2501.00656) and OLMo 3: Llama's blocks with norms of what the sublayers give, and of
// the whole row of queries and of keys.
//   olmo3  three layers with a window for each without one, which alone is scaled by yarn
#include "learn/models/llama_blocks.h"

namespace hone {
namespace {

// Defaults of Transformers' config classes.
constexpr const char* kUsualOlmo2 =
    R"({"vocab_size": 50304, "hidden_size": 4096, "intermediate_size": 11008,
    "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": null,
    "hidden_act": "silu", "max_position_embeddings": 2048, "initializer_range": 0.02,
    "rms_norm_eps": 1e-05, "tie_word_embeddings": false, "attention_bias": false,
    "attention_dropout": 0.0, "pad_token_id": 1, "bos_token_id": null, "eos_token_id": 50279,
    "rope_parameters": {"rope_theta": 10000.0, "rope_type": "default"}})";
constexpr const char* kUsualOlmo3 =
    R"({"vocab_size": 50304, "hidden_size": 4096, "intermediate_size": 11008,
    "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": null,
    "hidden_act": "silu", "max_position_embeddings": 2048, "initializer_range": 0.02,
    "rms_norm_eps": 1e-05, "tie_word_embeddings": false, "attention_bias": false,
    "attention_dropout": 0.0, "pad_token_id": 1, "bos_token_id": null, "eos_token_id": 50279,
    "sliding_window": 4096, "rope_parameters": {
      "full_attention": {"rope_theta": 500000.0, "rope_type": "default"},
      "sliding_attention": {"rope_theta": 500000.0, "rope_type": "default"}}})";

bool is_olmo3(const ModelConfig& c) { return c.text("model_type", "") == "olmo3"; }

LlamaStyle olmo2_style(const ModelConfig& c) {
  const bool bias = c.flag("attention_bias", false);
  LlamaStyle s{.qkv_bias = bias,
               .output_bias = bias,
               .before_rotation = norm_of_rows,
               .attention_norm = "",
               .attention_out_norm = "post_attention_layernorm",
               .mlp_norm = "",
               .mlp_out_norm = "post_feedforward_layernorm"};
  if (!is_olmo3(c)) return s;
  s.window_period = 4;
  s.rotation = {.theta = 5e5, .local_theta_key = "rope_theta", .local_theta = 5e5};
  return s;
}

Status read_olmo2_config(ModelConfig& c) {
  HONE_TRY(read_decoder_config(c, is_olmo3(c) ? kUsualOlmo3 : kUsualOlmo2, olmo2_style(c)));
  if (is_olmo3(c)) c.window = HONE_TRY(c.integer("sliding_window", 0));
  return Ok{};
}

const GgufLayout* gguf_of_olmo2() {
  static const GgufLayout layout = [] {
    GgufLayout g = llama_gguf("olmo2", "");
    rename_tensors(g, {{"attn_norm", ""},
                       {"ffn_norm", ""},
                       {"attn_q_norm", "self_attn.q_norm"},
                       {"attn_k_norm", "self_attn.k_norm"},
                       {"post_attention_norm", "post_attention_layernorm"},
                       {"post_ffw_norm", "post_feedforward_layernorm"}});
    return g;
  }();
  return &layout;
}

// llama.cpp scales the layers without a window alone, every fourth.
std::string unwritable_olmo3(const ModelConfig& c) {
  if (c.window == 0) return "it has no window";
  const RotationStyle style = olmo2_style(c).rotation;
  const nlohmann::json local = rope_parameters(c, style, true);
  if (local["rope_type"] != "default" ||
      local["rope_theta"] != rope_parameters(c, style)["rope_theta"])
    return "rotary positions of its layers with a window differ from llama.cpp's";
  return windows_other_than(c, 4);
}

const GgufLayout* gguf_of_olmo3() {
  static const GgufLayout layout = [] {
    GgufLayout g = *gguf_of_olmo2();
    g.marker = "attention.sliding_window";
    g.keys.push_back({g.marker, "sliding_window"});
    g.rotation.theta = 5e5;
    g.unwritable = unwritable_olmo3;
    return g;
  }();
  return &layout;
}

}  // namespace

Family family_olmo2() {
  return llama_family<olmo2_style>(
      {.name = "olmo2",
       .model_types = {{"olmo2", "Olmo2", kUsualOlmo2, {"q_proj", "v_proj"}, gguf_of_olmo2()},
                       {"olmo3", "Olmo3", kUsualOlmo3, {"q_proj", "v_proj"}, gguf_of_olmo3()}},
       .read_config = read_olmo2_config});
}

}  // namespace hone
