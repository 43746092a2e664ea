// Phi-3, Phi-3.5 and Phi-4 (arXiv 2404.14219): Llama's blocks with fused projections, and two lists
// of rotary factors for short and long texts.
#include "learn/models/llama_blocks.h"

namespace hone {
namespace {

// Defaults of Transformers' config class.
constexpr const char* kUsualPhi3 =
    R"({"vocab_size": 32064, "hidden_size": 3072, "intermediate_size": 8192,
    "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": null,
    "resid_pdrop": 0.0, "embd_pdrop": 0.0, "attention_dropout": 0.0, "hidden_act": "silu",
    "max_position_embeddings": 4096, "original_max_position_embeddings": 4096,
    "initializer_range": 0.02, "rms_norm_eps": 1e-05, "tie_word_embeddings": false,
    "bos_token_id": 1, "eos_token_id": 32000, "pad_token_id": 32000, "sliding_window": null,
    "rope_parameters": {"rope_theta": 10000.0, "rope_type": "default"}})";

LlamaStyle phi3_style(const ModelConfig& c) {
  const double resid = c.real("resid_pdrop", 0);
  return {.fused_qkv = true,
          .fused_gate_up = true,
          .embed_dropout = c.real("embd_pdrop", 0),
          .attention_out_dropout = resid,
          .mlp_out_dropout = resid};
}

Status read_phi3_config(ModelConfig& c) {
  // The folders of Phi-3 say attention_bias and mean nothing by it: Transformers does not read it.
  HONE_TRY(read_decoder_config(c, kUsualPhi3, phi3_style(c),
                               {"attention_bias", "embd_layer", "full_attn_mod",
                                "interpolate_factor", "lm_head_bias", "mlp_bias"}));
  c.window = HONE_TRY(c.integer("sliding_window", 0));
  return Ok{};
}

const GgufLayout* gguf_of_phi3() {
  static const GgufLayout layout = [] {
    GgufLayout g = llama_gguf("phi3", "");
    g.keys.push_back({"attention.sliding_window", "sliding_window"});
    rename_tensors(g, {{"attn_q", ""},
                       {"attn_k", ""},
                       {"attn_v", ""},
                       {"attn_qkv", "self_attn.qkv_proj"},
                       {"ffn_gate", ""},
                       {"ffn_up", "mlp.gate_up_proj"}});
    g.turns_part = true;
    return g;
  }();
  return &layout;
}

}  // namespace

Family family_phi3() {
  return llama_family<phi3_style>(
      {.name = "phi3",
       .model_types = {{"phi3", "Phi3", kUsualPhi3, {"qkv_proj"}, gguf_of_phi3()}},
       .read_config = read_phi3_config,
       .dropouts = {"resid_pdrop", "embd_pdrop", "attention_dropout"},
       .module_order = {{"self_attn", "mlp", "o_proj", "qkv_proj"}}});
}

}  // namespace hone
