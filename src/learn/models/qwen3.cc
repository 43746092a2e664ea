// Qwen3 (arXiv 2505.09388): Llama's blocks with an RMS norm over each head's queries and keys
// before they are rotated.
#include "learn/models/llama_blocks.h"

namespace hone {
namespace {

// Defaults of Transformers' config class.
constexpr const char* kUsualQwen3 =
    R"({"vocab_size": 151936, "hidden_size": 4096, "intermediate_size": 22016,
    "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 32,
    "hidden_act": "silu", "max_position_embeddings": 32768, "initializer_range": 0.02,
    "rms_norm_eps": 1e-06, "tie_word_embeddings": false, "attention_bias": false,
    "attention_dropout": 0.0, "head_dim": 128, "bos_token_id": null, "eos_token_id": null,
    "sliding_window": null, "use_sliding_window": false, "max_window_layers": 28,
    "rope_parameters": {"rope_theta": 10000.0, "rope_type": "default"}})";

Status read_qwen3_config(ModelConfig& c) {
  HONE_TRY(read_llama_config(c, 32768, 128));
  if (c.flag("use_sliding_window", false)) c.window = HONE_TRY(c.integer("sliding_window", 4096));
  return Ok{};
}

LlamaStyle qwen3_style(const ModelConfig& c) {
  const bool bias = c.flag("attention_bias", false);
  return {.qkv_bias = bias,
          .output_bias = bias,
          .first_window_layer = qwen_window_layer(c),
          .before_rotation = norm_of_heads};
}

// As llama.cpp's converter writes them: heads have a size of their own.
const GgufLayout* gguf_of_qwen3() {
  static const GgufLayout layout = [] {
    GgufLayout g = llama_gguf("qwen3", "attention.key_length");
    g.keys.push_back({"attention.value_length", ""});
    g.of_layer.push_back({"attn_q_norm", "self_attn.q_norm"});
    g.of_layer.push_back({"attn_k_norm", "self_attn.k_norm"});
    return g;
  }();
  return &layout;
}

}  // namespace

Family family_qwen3() {
  return llama_family<qwen3_style>(
      {.name = "qwen3",
       .model_types = {{"qwen3", "Qwen3", kUsualQwen3, {"q_proj", "v_proj"}, gguf_of_qwen3()}},
       .read_config = read_qwen3_config});
}

}  // namespace hone
