// Llama and the families whose blocks are its own:
//   llama    Llama 1-3, SmolLM2 (arXiv 2302.13971, 2407.21783)
//   mistral  sliding window (arXiv 2310.06825)
//   qwen2    biases on q, k, v (arXiv 2407.10671)
#include "learn/models/llama_blocks.h"

namespace hone {
namespace {

// Defaults of Transformers' config class.
constexpr const char* kUsualLlama =
    R"({"vocab_size": 32000, "hidden_size": 4096, "intermediate_size": 11008,
    "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 32,
    "hidden_act": "silu", "max_position_embeddings": 2048, "initializer_range": 0.02,
    "rms_norm_eps": 1e-06, "tie_word_embeddings": false, "attention_bias": false,
    "attention_dropout": 0.0, "mlp_bias": false, "head_dim": 128, "bos_token_id": 1,
    "eos_token_id": 2, "rope_parameters": {"rope_theta": 10000.0, "rope_type": "default"}})";
constexpr const char* kUsualMistral =
    R"({"vocab_size": 32000, "hidden_size": 4096, "intermediate_size": 14336,
    "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 8,
    "hidden_act": "silu", "max_position_embeddings": 131072, "initializer_range": 0.02,
    "rms_norm_eps": 1e-06, "tie_word_embeddings": false, "attention_dropout": 0.0,
    "head_dim": 128, "bos_token_id": 1, "eos_token_id": 2, "sliding_window": 4096,
    "rope_parameters": {"rope_theta": 10000.0, "rope_type": "default"}})";
constexpr const char* kUsualQwen2 =
    R"({"vocab_size": 151936, "hidden_size": 4096, "intermediate_size": 22016,
    "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 32,
    "hidden_act": "silu", "max_position_embeddings": 32768, "initializer_range": 0.02,
    "rms_norm_eps": 1e-06, "tie_word_embeddings": false, "attention_dropout": 0.0,
    "bos_token_id": null, "eos_token_id": null, "sliding_window": null,
    "use_sliding_window": false, "max_window_layers": 28,
    "rope_parameters": {"rope_theta": 10000.0, "rope_type": "default"}})";

std::string llama_type(const ModelConfig& c) { return c.text("model_type", "llama"); }

Status read_llama_config(ModelConfig& c) {
  const std::string type = llama_type(c);
  HONE_TRY(read_llama_config(c, type == "llama" ? 2048 : type == "qwen2" ? 32768 : 4096 * 32));
  if (type == "mistral" || (type == "qwen2" && c.flag("use_sliding_window", false)))
    c.window = HONE_TRY(c.integer("sliding_window", 0));
  return Ok{};
}

LlamaStyle llama_style(const ModelConfig& c) {
  const std::string type = llama_type(c);
  return {.qkv_bias = c.flag("attention_bias", type == "qwen2"),
          .output_bias = type == "llama" && c.flag("attention_bias", false),
          .mlp_bias = c.flag("mlp_bias", false),
          .first_window_layer = type == "qwen2" ? qwen_window_layer(c) : 0};
}

const GgufLayout* gguf_of_llama() {
  static const GgufLayout layout = [] {
    GgufLayout g = llama_gguf("llama", "rope.dimension_count");
    g.interleaves_heads = true;
    g.finish = [](Json& config, const std::function<bool(const char*)>& has) {
      if (has("blk.0.attn_q.bias")) config["attention_bias"] = true;
    };
    return g;
  }();
  return &layout;
}

const GgufLayout* gguf_of_mistral() {
  static const GgufLayout layout = [] {
    GgufLayout g = *gguf_of_llama();
    g.general_name = "mistral";
    // Transformers gives a config without the key a window of 4,096.
    g.finish = [](Json& config, const std::function<bool(const char*)>&) {
      config["sliding_window"] = nullptr;
    };
    return g;
  }();
  return &layout;
}

const GgufLayout* gguf_of_qwen2() {
  static const GgufLayout layout = llama_gguf("qwen2", "");
  return &layout;
}

}  // namespace

Family family_llama() {
  return llama_family<llama_style>(
      {.name = "llama",
       .model_types =
           {{"llama", "Llama", kUsualLlama, {"q_proj", "v_proj"}, gguf_of_llama()},
            {"mistral", "Mistral", kUsualMistral, {"q_proj", "v_proj"}, gguf_of_mistral()},
            {"qwen2", "Qwen2", kUsualQwen2, {"q_proj", "v_proj"}, gguf_of_qwen2()}},
       .read_config = read_llama_config});
}

}  // namespace hone
