// Seed-OSS (ByteDance): Llama's blocks with biases on q, k and v, and heads of a size of their own.
#include "learn/models/llama_blocks.h"

namespace hone {
namespace {

// Defaults of Transformers' config class.
constexpr const char* kUsualSeedOss =
    R"({"vocab_size": 155136, "hidden_size": 4096, "intermediate_size": 27648,
    "num_hidden_layers": 64, "num_attention_heads": 80, "num_key_value_heads": 8,
    "head_dim": 128, "hidden_act": "silu", "max_position_embeddings": 524288,
    "initializer_range": 0.02, "rms_norm_eps": 1e-06, "tie_word_embeddings": false,
    "attention_bias": true, "attention_out_bias": false, "attention_dropout": 0.1,
    "residual_dropout": 0.1, "mlp_bias": false, "pad_token_id": 1, "bos_token_id": 0,
    "eos_token_id": 2, "rope_parameters": {"rope_theta": 10000.0, "rope_type": "default"}})";

LlamaStyle seed_oss_style(const ModelConfig& c) {
  const double dropout = c.real("residual_dropout", 0.1);
  return {.qkv_bias = c.flag("attention_bias", true),
          .output_bias = c.flag("attention_out_bias", false),
          .mlp_bias = c.flag("mlp_bias", false),
          .attention_out_dropout = dropout,
          .mlp_out_dropout = dropout};
}

Status read_seed_oss_config(ModelConfig& c) {
  return read_decoder_config(c, kUsualSeedOss, seed_oss_style(c));
}

const GgufLayout* gguf_of_seed_oss() {
  static const GgufLayout layout = [] {
    GgufLayout g = llama_gguf("seed_oss", kGgufHeadSize);
    g.keys.push_back({"attention.value_length", ""});
    rename_tensors(g, {{"ffn_norm", ""}, {"post_attention_norm", "post_attention_layernorm"}});
    g.finish = [](Json& config, const std::function<bool(const char*)>& has) {
      config["attention_bias"] = has("blk.0.attn_q.bias");
    };
    return g;
  }();
  return &layout;
}

}  // namespace

Family family_seed_oss() {
  return llama_family<seed_oss_style>(
      {.name = "seed_oss",
       .model_types =
           {{"seed_oss", "SeedOss", kUsualSeedOss, {"q_proj", "v_proj"}, gguf_of_seed_oss()}},
       .read_config = read_seed_oss_config,
       .dropouts = {"attention_dropout", "residual_dropout"}});
}

}  // namespace hone
