// SmolLM3: Llama's blocks, with some layers whose queries and keys do not turn (arXiv 2501.18795).
#include "learn/models/errors.h"
#include "learn/models/llama_blocks.h"

namespace hone {
namespace {

// Defaults of Transformers' config class.
constexpr const char* kUsualSmolLm3 =
    R"({"vocab_size": 128256, "hidden_size": 2048, "intermediate_size": 11008,
    "num_hidden_layers": 36, "num_attention_heads": 16, "num_key_value_heads": 4,
    "hidden_act": "silu", "max_position_embeddings": 32768, "initializer_range": 0.02,
    "rms_norm_eps": 1e-06, "tie_word_embeddings": true, "attention_bias": false,
    "attention_dropout": 0.0, "mlp_bias": false, "pad_token_id": 128004, "bos_token_id": 128000,
    "eos_token_id": 128001, "use_sliding_window": false, "sliding_window": null,
    "no_rope_layer_interval": 4,
    "rope_parameters": {"rope_theta": 2000000.0, "rope_type": "default"}})";

// no_rope_layers has a 1 for each layer that turns.
bool smollm3_rotates(const ModelConfig& c, int64_t layer) {
  const auto it = c.config.find("no_rope_layers");
  if (it != c.config.end() && it->is_array()) return (*it)[static_cast<size_t>(layer)] == 1;
  return (layer + 1) % c.integer("no_rope_layer_interval", 4).value() != 0;
}

LlamaStyle smollm3_style(const ModelConfig& c) {
  const bool bias = c.flag("attention_bias", false);
  return {.qkv_bias = bias,
          .output_bias = bias,
          .mlp_bias = c.flag("mlp_bias", false),
          .rotation = {.theta = 2e6},
          .rotates = smollm3_rotates};
}

Status read_smollm3_config(ModelConfig& c) {
  HONE_TRY(read_decoder_config(c, kUsualSmolLm3, smollm3_style(c),
                               {"no_rope_layers", "max_window_layers"}));
  if (HONE_TRY(c.integer("no_rope_layer_interval", 4)) < 1)
    return Error(err::kBadConfig, "config.json: no_rope_layer_interval is 0");
  const auto layers = c.config.find("no_rope_layers");
  if (layers != c.config.end() && layers->is_array() &&
      static_cast<int64_t>(layers->size()) != c.layers)
    return Error(err::kBadConfig, fmt::format("config.json: no_rope_layers has {} entries for {} "
                                              "layers",
                                              layers->size(), c.layers));
  if (!c.flag("use_sliding_window", false)) return Ok{};
  return Error(err::kConfigNotOffered, "config.json: use_sliding_window is not supported");
}

// llama.cpp knows one pattern of layers that do not turn.
std::string unwritable_smollm3(const ModelConfig& c) {
  for (int64_t i = 0; i < c.layers; ++i)
    if (smollm3_rotates(c, i) != ((i + 1) % 4 != 0))
      return "its no_rope_layers are not every fourth layer";
  return "";
}

const GgufLayout* gguf_of_smollm3() {
  static const GgufLayout layout = [] {
    GgufLayout g = llama_gguf("smollm3", "");
    g.interleaves_heads = true;
    g.unwritable = unwritable_smollm3;
    return g;
  }();
  return &layout;
}

}  // namespace

Family family_smollm3() {
  return llama_family<smollm3_style>(
      {.name = "smollm3",
       .model_types =
           {{"smollm3", "SmolLM3", kUsualSmolLm3, {"q_proj", "v_proj"}, gguf_of_smollm3()}},
       .read_config = read_smollm3_config});
}

}  // namespace hone
