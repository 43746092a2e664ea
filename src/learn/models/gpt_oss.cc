// gpt-oss (arXiv 2508.10925): Llama's blocks with sinks in attention, a window in every second layer, and
// experts with biases and a clamped gate in the place of MLPs.
#include "learn/models/llama_blocks.h"

namespace hone {
namespace {

// Defaults of Transformers' config class.
constexpr const char* kUsualGptOss =
    R"({"vocab_size": 201088, "hidden_size": 2880, "intermediate_size": 2880,
    "num_hidden_layers": 36, "num_attention_heads": 64, "num_key_value_heads": 8, "head_dim": 64,
    "hidden_act": "silu", "max_position_embeddings": 131072, "initializer_range": 0.02,
    "rms_norm_eps": 1e-05, "tie_word_embeddings": false, "attention_bias": true,
    "attention_dropout": 0.0, "bos_token_id": null, "eos_token_id": null, "sliding_window": 128,
    "num_local_experts": 128, "num_experts_per_tok": 4, "swiglu_alpha": 1.702,
    "swiglu_limit": 7.0, "output_router_logits": false, "router_aux_loss_coef": 0.001,
    "rope_parameters": {"rope_type": "yarn", "rope_theta": 150000.0, "factor": 32.0,
      "beta_fast": 32.0, "beta_slow": 1.0, "truncate": false,
      "original_max_position_embeddings": 4096}})";

LlamaStyle gpt_oss_style(const ModelConfig& c) {
  const bool bias = c.flag("attention_bias", true);
  LlamaStyle s{.qkv_bias = bias, .output_bias = bias, .window_period = 2};
  s.rotation.theta = 1.5e5;
  s.sinks = true;
  s.experts =
      ExpertStyle{.count = "num_local_experts", .inner = "intermediate_size", .is_gpt_oss = true};
  return s;
}

Status read_gpt_oss_config(ModelConfig& c) {
  // Keys of the first checkpoints that repeat others.
  HONE_TRY(read_decoder_config(c, kUsualGptOss, gpt_oss_style(c),
                               {"experts_per_token", "initial_context_length"}));
  c.window = HONE_TRY(c.integer("sliding_window", 0));
  return Ok{};
}

}  // namespace

Family family_gpt_oss() {
  return llama_family<gpt_oss_style>(
      {.name = "gpt_oss",
       .model_types = {{"gpt_oss", "GptOss", kUsualGptOss, {"q_proj", "v_proj"}}},
       .read_config = read_gpt_oss_config});
}

}  // namespace hone
