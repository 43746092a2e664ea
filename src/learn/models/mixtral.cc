// Mixtral (arXiv 2401.04088): Mistral's blocks with experts in the place of MLPs.
#include "learn/models/llama_blocks.h"

namespace hone {
namespace {

// Defaults of Transformers' config class.
constexpr const char* kUsualMixtral =
    R"({"vocab_size": 32000, "hidden_size": 4096, "intermediate_size": 14336,
    "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 8,
    "hidden_act": "silu", "max_position_embeddings": 131072, "initializer_range": 0.02,
    "rms_norm_eps": 1e-05, "tie_word_embeddings": false, "attention_dropout": 0.0,
    "bos_token_id": 1, "eos_token_id": 2, "sliding_window": null, "num_experts_per_tok": 2,
    "num_local_experts": 8, "output_router_logits": false, "router_aux_loss_coef": 0.001,
    "router_jitter_noise": 0.0,
    "rope_parameters": {"rope_theta": 1000000.0, "rope_type": "default"}})";

ExpertStyle mixtral_experts() {
  return {.at = "block_sparse_moe.",
          .other_at = "mlp.",
          .gate = "w1",
          .up = "w3",
          .down = "w2",
          .count = "num_local_experts",
          .inner = "intermediate_size"};
}

LlamaStyle mixtral_style(const ModelConfig&) {
  LlamaStyle s;
  s.rotation.theta = 1e6;
  s.experts = mixtral_experts();
  return s;
}

Status read_mixtral_config(ModelConfig& c) {
  HONE_TRY(read_decoder_config(c, kUsualMixtral, mixtral_style(c)));
  c.window = HONE_TRY(c.integer("sliding_window", 0));
  return Ok{};
}

// Files of Llama with experts.
const GgufLayout* gguf_of_mixtral() {
  static const GgufLayout layout = [] {
    GgufLayout g = llama_gguf("llama", "rope.dimension_count");
    g.marker = "expert_count";
    g.interleaves_heads = true;
    g.rotation.theta = 1e6;
    add_experts(g, mixtral_experts());
    return g;
  }();
  return &layout;
}

}  // namespace

Family family_mixtral() {
  return llama_family<mixtral_style>(
      {.name = "mixtral",
       .model_types =
           {{"mixtral", "Mixtral", kUsualMixtral, {"q_proj", "v_proj"}, gguf_of_mixtral()}},
       .read_config = read_mixtral_config});
}

}  // namespace hone
