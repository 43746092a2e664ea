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

constexpr double kAlpha = 1.702, kLimit = 7;

ExpertStyle gpt_oss_experts() {
  return {.count = "num_local_experts", .inner = "intermediate_size", .is_gpt_oss = true};
}

LlamaStyle gpt_oss_style(const ModelConfig& c) {
  const bool bias = c.flag("attention_bias", true);
  LlamaStyle s{.qkv_bias = bias, .output_bias = bias, .window_period = 2};
  s.rotation.theta = 1.5e5;
  s.sinks = true;
  s.experts = gpt_oss_experts();
  return s;
}

Status read_gpt_oss_config(ModelConfig& c) {
  // Keys of the first checkpoints that repeat others.
  HONE_TRY(read_decoder_config(c, kUsualGptOss, gpt_oss_style(c),
                               {"experts_per_token", "initial_context_length"}));
  c.window = HONE_TRY(c.integer("sliding_window", 0));
  return Ok{};
}

std::string unwritable_gpt_oss(const ModelConfig& c) {
  if (c.real("swiglu_alpha", kAlpha) != kAlpha || c.real("swiglu_limit", kLimit) != kLimit)
    return "its swiglu_alpha is not 1.702, or its swiglu_limit is not 7";
  if (!c.flag("attention_bias", true)) return "its attention has no biases";
  if (c.window == 0) return "it has no window";
  return windows_other_than(c, 2);
}

const GgufLayout* gguf_of_gpt_oss() {
  static const GgufLayout layout = [] {
    GgufLayout g = llama_gguf("gpt-oss", kGgufHeadSize);
    g.keys.push_back({"attention.value_length", ""});
    g.keys.push_back({"attention.sliding_window", "sliding_window"});
    rename_tensors(g, {{"ffn_norm", ""}, {"post_attention_norm", "post_attention_layernorm"}});
    add_experts(g, gpt_oss_experts());
    g.parts.push_back({"attn_sinks.weight", "self_attn.sinks"});
    g.rotation.theta = 1.5e5;
    g.blends_yarn = true;
    g.unwritable = unwritable_gpt_oss;
    return g;
  }();
  return &layout;
}

}  // namespace

Family family_gpt_oss() {
  return llama_family<gpt_oss_style>(
      {.name = "gpt_oss",
       .model_types =
           {{"gpt_oss", "GptOss", kUsualGptOss, {"q_proj", "v_proj"}, gguf_of_gpt_oss()}},
       .read_config = read_gpt_oss_config});
}

}  // namespace hone
