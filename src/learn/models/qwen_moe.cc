// Qwen's models with experts (arXiv 2407.10671, 2505.09388): Qwen2's and Qwen3's blocks, where layers may have
// experts in the place of the MLP.
//   qwen2_moe  one more MLP for every token, with a gate
//   qwen3_moe  shares of the experts sum to 1 where norm_topk_prob says so
#include "learn/models/llama_blocks.h"

namespace hone {
namespace {

// Defaults of Transformers' config classes.
constexpr const char* kUsualQwen2Moe =
    R"({"vocab_size": 151936, "hidden_size": 2048, "intermediate_size": 5632,
    "num_hidden_layers": 24, "num_attention_heads": 16, "num_key_value_heads": 16,
    "hidden_act": "silu", "max_position_embeddings": 32768, "initializer_range": 0.02,
    "rms_norm_eps": 1e-06, "tie_word_embeddings": false, "attention_dropout": 0.0,
    "bos_token_id": null, "eos_token_id": null, "sliding_window": 4096,
    "use_sliding_window": false, "max_window_layers": 28, "qkv_bias": true,
    "decoder_sparse_step": 1, "mlp_only_layers": [], "moe_intermediate_size": 1408,
    "shared_expert_intermediate_size": 5632, "num_experts_per_tok": 4, "num_experts": 60,
    "norm_topk_prob": false, "output_router_logits": false, "router_aux_loss_coef": 0.001,
    "rope_parameters": {"rope_theta": 10000.0, "rope_type": "default"}})";
constexpr const char* kUsualQwen3Moe =
    R"({"vocab_size": 151936, "hidden_size": 2048, "intermediate_size": 6144,
    "num_hidden_layers": 24, "num_attention_heads": 32, "num_key_value_heads": 4,
    "hidden_act": "silu", "max_position_embeddings": 32768, "initializer_range": 0.02,
    "rms_norm_eps": 1e-06, "tie_word_embeddings": false, "attention_bias": false,
    "attention_dropout": 0.0, "bos_token_id": null, "eos_token_id": null,
    "sliding_window": 4096, "use_sliding_window": false, "decoder_sparse_step": 1,
    "mlp_only_layers": [], "moe_intermediate_size": 768, "num_experts_per_tok": 8,
    "num_experts": 128, "norm_topk_prob": false, "output_router_logits": false,
    "router_aux_loss_coef": 0.001,
    "rope_parameters": {"rope_theta": 10000.0, "rope_type": "default"}})";

bool is_qwen3_moe(const ModelConfig& c) { return c.text("model_type", "") == "qwen3_moe"; }

LlamaStyle qwen_moe_style(const ModelConfig& c) {
  const bool is_qwen3 = is_qwen3_moe(c), bias = c.flag("attention_bias", false);
  LlamaStyle s{.qkv_bias = is_qwen3 ? bias : c.flag("qkv_bias", true),
               .output_bias = is_qwen3 && bias};
  if (is_qwen3) s.before_rotation = norm_of_heads;
  s.experts =
      ExpertStyle{.normalizes = c.flag("norm_topk_prob", false), .is_dense = is_dense_in_qwen};
  if (const auto inner = c.integer(kSharedInner, 5632); !is_qwen3 && inner.ok())
    s.experts->shared_inner = *inner;
  return s;
}

// Layers with a window, where config.json does not name them: Transformers' rule for Qwen2-MoE.
Status name_windows(ModelConfig& c) {
  const int64_t end = c.integer("max_window_layers", 28).value();
  return name_layers(c, c.layers, [&](int64_t i) {
    return i % 2 == 0 && i < end ? kSlidingAttention : kFullAttention;
  });
}

Status read_qwen_moe_config(ModelConfig& c) {
  const bool is_qwen3 = is_qwen3_moe(c);
  const LlamaStyle style = qwen_moe_style(c);
  HONE_TRY(read_decoder_config(c, is_qwen3 ? kUsualQwen3Moe : kUsualQwen2Moe, style,
                               {"max_window_layers"}));
  HONE_TRY(c.integer("decoder_sparse_step", 1));
  HONE_TRY(c.integer("max_window_layers", 28));
  if (!is_qwen3) HONE_TRY(check_shared_expert(c));
  if (!c.flag("use_sliding_window", false)) return Ok{};
  c.window = HONE_TRY(c.integer("sliding_window", 4096));
  return is_qwen3 ? Status(Ok{}) : name_windows(c);
}

// llama.cpp adds the shares of Qwen2's experts as they are, and makes those of Qwen3's sum to 1; each layer has
// experts, and none has a window.
std::string unwritable_qwen_moe(const ModelConfig& c) {
  const bool is_qwen3 = is_qwen3_moe(c);
  for (int64_t i = 0; i < c.layers; ++i)
    if (is_dense_in_qwen(c, i)) return fmt::format("its layer {} has no experts", i);
  if (c.flag("norm_topk_prob", false) != is_qwen3)
    return fmt::format("its norm_topk_prob is {}", !is_qwen3);
  if (c.window > 0) return "some of its layers have a window";
  if (qwen_moe_style(c).qkv_bias == is_qwen3)
    return fmt::format("its projections of queries have {} bias", is_qwen3 ? "a" : "no");
  return "";
}

GgufLayout qwen_moe_gguf(const char* architecture, const char* head_dim_key) {
  GgufLayout g = llama_gguf(architecture, head_dim_key);
  add_experts(g, {});
  g.unwritable = unwritable_qwen_moe;
  return g;
}

const GgufLayout* gguf_of_qwen2_moe() {
  static const GgufLayout layout = [] {
    GgufLayout g = qwen_moe_gguf("qwen2moe", "");
    add_shared_expert(g, {});
    return g;
  }();
  return &layout;
}

const GgufLayout* gguf_of_qwen3_moe() {
  static const GgufLayout layout = [] {
    GgufLayout g = qwen_moe_gguf("qwen3moe", kGgufHeadSize);
    g.keys.push_back({"attention.value_length", ""});
    rename_tensors(g, {{"attn_q_norm", "self_attn.q_norm"}, {"attn_k_norm", "self_attn.k_norm"}});
    g.finish = [](Json& config, const std::function<bool(const char*)>&) {
      config["norm_topk_prob"] = true;
    };
    return g;
  }();
  return &layout;
}

}  // namespace

Family family_qwen_moe() {
  return llama_family<qwen_moe_style>(
      {.name = "qwen_moe",
       .model_types =
           {{"qwen2_moe", "Qwen2Moe", kUsualQwen2Moe, {"q_proj", "v_proj"}, gguf_of_qwen2_moe()},
            {"qwen3_moe", "Qwen3Moe", kUsualQwen3Moe, {"q_proj", "v_proj"}, gguf_of_qwen3_moe()}},
       .read_config = read_qwen_moe_config});
}

}  // namespace hone
