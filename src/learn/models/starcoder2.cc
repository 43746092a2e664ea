// StarCoder2 (arXiv 2402.19173): Llama's blocks with layer norms, biases, and an MLP of two layers
// with a tanh GELU.
#include "learn/models/llama_blocks.h"

namespace hone {
namespace {

// Defaults of Transformers' config class.
constexpr const char* kUsualStarcoder2 =
    R"({"vocab_size": 49152, "hidden_size": 3072, "intermediate_size": 12288,
    "num_hidden_layers": 30, "num_attention_heads": 24, "num_key_value_heads": 2,
    "hidden_act": "gelu_pytorch_tanh", "max_position_embeddings": 4096,
    "initializer_range": 0.018042, "norm_epsilon": 1e-05, "tie_word_embeddings": true,
    "use_bias": true, "attention_dropout": 0.0, "residual_dropout": 0.0,
    "embedding_dropout": 0.0, "sliding_window": null, "pad_token_id": null,
    "bos_token_id": 50256, "eos_token_id": 50256,
    "rope_parameters": {"rope_theta": 10000.0, "rope_type": "default"}})";

LlamaStyle starcoder2_style(const ModelConfig& c) {
  const bool bias = c.flag("use_bias", true);
  const double dropout = c.real("residual_dropout", 0);
  return {.qkv_bias = bias,
          .output_bias = bias,
          .mlp_bias = bias,
          .norm = layer_norm_of,
          .gated = false,
          .act = "gelu_pytorch_tanh",
          .up = "c_fc",
          .down = "c_proj",
          .embed_dropout = c.real("embedding_dropout", 0),
          .attention_out_dropout = dropout,
          .mlp_out_dropout = dropout};
}

Status read_starcoder2_config(ModelConfig& c) {
  // The published folders also have keys that Transformers does not read.
  HONE_TRY(read_decoder_config(
      c, kUsualStarcoder2, starcoder2_style(c),
      {"activation_function", "mlp_type", "norm_type", "layer_norm_epsilon",
       "attention_softmax_in_fp32", "scale_attention_softmax_in_fp32", "scale_attn_weights"}));
  c.window = HONE_TRY(c.integer("sliding_window", 0));
  return Ok{};
}

const GgufLayout* gguf_of_starcoder2() {
  static const GgufLayout layout = [] {
    GgufLayout g = llama_gguf("starcoder2", "");
    use_layer_norms(g, "norm_epsilon");
    g.keys.push_back({"attention.sliding_window", "sliding_window"});
    rename_tensors(g, {{"ffn_gate", ""}, {"ffn_up", "mlp.c_fc"}, {"ffn_down", "mlp.c_proj"}});
    return g;
  }();
  return &layout;
}

}  // namespace

Family family_starcoder2() {
  return llama_family<starcoder2_style>(
      {.name = "starcoder2",
       .model_types = {{"starcoder2",
                        "Starcoder2",
                        kUsualStarcoder2,
                        {"q_proj", "v_proj"},
                        gguf_of_starcoder2()}},
       .read_config = read_starcoder2_config,
       .dropouts = {"attention_dropout", "residual_dropout", "embedding_dropout"}});
}

}  // namespace hone
