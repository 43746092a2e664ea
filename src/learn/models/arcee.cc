// Arcee's foundation models (AFM): Llama's blocks with an MLP of two layers and relu(x)^2.
#include "learn/models/llama_blocks.h"

namespace hone {
namespace {

// Defaults of Transformers' config class.
constexpr const char* kUsualArcee =
    R"({"vocab_size": 32000, "hidden_size": 2560, "intermediate_size": 18432,
    "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": null,
    "head_dim": null, "hidden_act": "relu2", "max_position_embeddings": 4096,
    "initializer_range": 0.02, "rms_norm_eps": 1e-05, "tie_word_embeddings": false,
    "attention_bias": false, "attention_dropout": 0.0, "mlp_bias": false, "pad_token_id": null,
    "bos_token_id": 128000, "eos_token_id": 128001,
    "rope_parameters": {"rope_theta": 10000.0, "rope_type": "default"}})";

LlamaStyle arcee_style(const ModelConfig& c) {
  const bool bias = c.flag("attention_bias", false);
  return {.qkv_bias = bias,
          .output_bias = bias,
          .mlp_bias = c.flag("mlp_bias", false),
          .gated = false,
          .act = "relu2"};
}

Status read_arcee_config(ModelConfig& c) {
  return read_decoder_config(c, kUsualArcee, arcee_style(c));
}

const GgufLayout* gguf_of_arcee() {
  static const GgufLayout layout = [] {
    GgufLayout g = llama_gguf("arcee", "rope.dimension_count");
    rename_tensors(g, {{"ffn_gate", ""}});
    g.interleaves_heads = true;
    return g;
  }();
  return &layout;
}

}  // namespace

Family family_arcee() {
  return llama_family<arcee_style>(
      {.name = "arcee",
       .model_types = {{"arcee", "Arcee", kUsualArcee, {"q_proj", "v_proj"}, gguf_of_arcee()}},
       .read_config = read_arcee_config});
}

}  // namespace hone
