// Nemotron (arXiv 2402.16819): Llama's blocks with layer norms times 1 + w, an MLP of two layers
// and relu(x)^2, and half of each head's channels turned.
#include "learn/models/llama_blocks.h"

namespace hone {
namespace {

// Defaults of Transformers' config class.
constexpr const char* kUsualNemotron =
    R"({"vocab_size": 256000, "hidden_size": 6144, "intermediate_size": 24576,
    "num_hidden_layers": 32, "num_attention_heads": 48, "num_key_value_heads": null,
    "head_dim": null, "hidden_act": "relu2", "max_position_embeddings": 4096,
    "initializer_range": 0.0134, "norm_eps": 1e-05, "tie_word_embeddings": false,
    "attention_bias": false, "attention_dropout": 0.0, "mlp_bias": false, "pad_token_id": null,
    "bos_token_id": 2, "eos_token_id": 3, "rope_parameters": {"rope_theta": 10000.0,
    "rope_type": "default", "partial_rotary_factor": 0.5}})";

ValueId nemotron_norm(ModelGraph& g, const std::string& at, ValueId x) {
  Builder& b = g.b;
  const int64_t channels = b.type(x).shape.back();
  const ValueId w = g.zeros(at + ".weight", channels), beta = g.zeros(at + ".bias", channels);
  const ValueId gamma = ops::add(b, w, ops::constant(b, 1, {DType::f32, {}}));
  return ops::layer_norm(b, x, gamma, beta, g.config.real("norm_eps", 1e-5)).y;
}

LlamaStyle nemotron_style(const ModelConfig& c) {
  const bool bias = c.flag("attention_bias", false);
  return {.qkv_bias = bias,
          .output_bias = bias,
          .mlp_bias = c.flag("mlp_bias", false),
          .rotation = {.share = 0.5},
          .norm = nemotron_norm,
          .gated = false,
          .act = "relu2"};
}

Status read_nemotron_config(ModelConfig& c) {
  // The folders name the same share twice.
  if (c.config.contains("rope_percent") && !c.config.contains("partial_rotary_factor"))
    c.config["partial_rotary_factor"] = c.config["rope_percent"];
  return read_decoder_config(c, kUsualNemotron, nemotron_style(c), {"rope_percent", "kv_channels"});
}

const GgufLayout* gguf_of_nemotron() {
  static const GgufLayout layout = [] {
    GgufLayout g = llama_gguf("nemotron", kGgufHeadSize);
    g.keys.push_back({"attention.value_length", ""});
    use_layer_norms(g, "norm_eps");
    rename_tensors(g, {{"ffn_gate", ""}});
    g.plus_one = {"norm.weight"};
    g.turns_part = true;
    return g;
  }();
  return &layout;
}

}  // namespace

Family family_nemotron() {
  return llama_family<nemotron_style>(
      {.name = "nemotron",
       .model_types =
           {{"nemotron", "Nemotron", kUsualNemotron, {"q_proj", "v_proj"}, gguf_of_nemotron()}},
       .read_config = read_nemotron_config});
}

}  // namespace hone
