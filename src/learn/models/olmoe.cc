// OLMoE (arXiv 2409.02060): Llama's blocks with experts in the place of MLPs, and norms of the whole row of
// queries and of keys.
#include "learn/models/errors.h"
#include "learn/models/llama_blocks.h"

namespace hone {
namespace {

// Defaults of Transformers' config class.
constexpr const char* kUsualOlmoe =
    R"({"vocab_size": 50304, "hidden_size": 2048, "intermediate_size": 2048,
    "num_hidden_layers": 16, "num_attention_heads": 16, "num_key_value_heads": null,
    "hidden_act": "silu", "max_position_embeddings": 4096, "initializer_range": 0.02,
    "rms_norm_eps": 1e-05, "tie_word_embeddings": false, "attention_bias": false,
    "attention_dropout": 0.0, "pad_token_id": 1, "bos_token_id": null, "eos_token_id": 50279,
    "clip_qkv": null, "num_experts_per_tok": 8, "num_experts": 64,
    "output_router_logits": false, "router_aux_loss_coef": 0.01, "norm_topk_prob": false,
    "rope_parameters": {"rope_theta": 10000.0, "rope_type": "default"}})";

ExpertStyle olmoe_experts(const ModelConfig& c) {
  return {.inner = "intermediate_size", .normalizes = c.flag("norm_topk_prob", false)};
}

LlamaStyle olmoe_style(const ModelConfig& c) {
  const bool bias = c.flag("attention_bias", false);
  LlamaStyle s{.qkv_bias = bias, .output_bias = bias, .before_rotation = norm_of_rows};
  s.experts = olmoe_experts(c);
  return s;
}

Status read_olmoe_config(ModelConfig& c) {
  HONE_TRY(read_decoder_config(c, kUsualOlmoe, olmoe_style(c)));
  if (!c.config["clip_qkv"].is_null())
    return Error(err::kConfigNotOffered,
                 fmt::format("config.json: 'clip_qkv' is {}, which is not supported",
                             c.config["clip_qkv"].dump()))
        .todo("null works");
  return Ok{};
}

std::string unwritable_olmoe(const ModelConfig& c) {
  if (c.flag("norm_topk_prob", false)) return "its norm_topk_prob is true";
  if (c.kv_heads != c.heads) return "it has fewer heads of keys than of queries";
  return c.flag("attention_bias", false) ? "its attention has biases" : "";
}

const GgufLayout* gguf_of_olmoe() {
  static const GgufLayout layout = [] {
    GgufLayout g = llama_gguf("olmoe", "");
    rename_tensors(g, {{"attn_q_norm", "self_attn.q_norm"}, {"attn_k_norm", "self_attn.k_norm"}});
    add_experts(g, olmoe_experts({}));
    g.unwritable = unwritable_olmoe;
    return g;
  }();
  return &layout;
}

}  // namespace

Family family_olmoe() {
  return llama_family<olmoe_style>(
      {.name = "olmoe",
       .model_types = {{"olmoe", "Olmoe", kUsualOlmoe, {"q_proj", "v_proj"}, gguf_of_olmoe()}},
       .read_config = read_olmoe_config});
}

}  // namespace hone
