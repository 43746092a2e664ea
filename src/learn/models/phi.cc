// Phi-1, Phi-1.5 and Phi-2 (arXiv 2309.05463): attention and MLP side by side after one layer norm,
// biases everywhere, and half of each head's channels turned.
#include "learn/models/errors.h"
#include "learn/models/llama_blocks.h"

namespace hone {
namespace {

// Defaults of Transformers' config class.
constexpr const char* kUsualPhi =
    R"({"vocab_size": 51200, "hidden_size": 2048, "intermediate_size": 8192,
    "num_hidden_layers": 24, "num_attention_heads": 32, "num_key_value_heads": null,
    "resid_pdrop": 0.0, "embd_pdrop": 0.0, "attention_dropout": 0.0, "hidden_act": "gelu_new",
    "max_position_embeddings": 2048, "initializer_range": 0.02, "layer_norm_eps": 1e-05,
    "tie_word_embeddings": false, "qk_layernorm": false, "pad_token_id": null,
    "bos_token_id": 1, "eos_token_id": 2, "rope_parameters": {"rope_theta": 10000.0,
    "rope_type": "default", "partial_rotary_factor": 0.5}})";

LlamaStyle phi_style(const ModelConfig& c) {
  const double resid = c.real("resid_pdrop", 0);
  return {.qkv_bias = true,
          .output_bias = true,
          .mlp_bias = true,
          .rotation = {.share = 0.5},
          .last_norm = "model.final_layernorm",
          .norm = layer_norm_of,
          .parallel = true,
          .gated = false,
          .act = "gelu_new",
          .output = "dense",
          .up = "fc1",
          .down = "fc2",
          .embed_dropout = c.real("embd_pdrop", 0),
          .attention_out_dropout = resid,
          .mlp_out_dropout = resid};
}

Status read_phi_config(ModelConfig& c) {
  if (c.flag("qk_layernorm", false))
    return Error(err::kConfigNotOffered, "config.json: qk_layernorm is not supported");
  return read_decoder_config(c, kUsualPhi, phi_style(c));
}

HeadLayer phi_head(ModelGraph& g, ValueId hidden) {
  HeadLayer head = llama_head(g, hidden);
  head.bias = g.zeros("lm_head.bias", g.config.vocab);
  return head;
}

const GgufLayout* gguf_of_phi() {
  static const GgufLayout layout = [] {
    GgufLayout g = llama_gguf("phi2", "");
    use_layer_norms(g, "layer_norm_eps");
    g.once = {{"token_embd", "model.embed_tokens"},
              {"output_norm", "model.final_layernorm"},
              {"output", "lm_head"}};
    rename_tensors(g, {{"attn_output", "self_attn.dense"},
                       {"ffn_norm", ""},
                       {"ffn_gate", ""},
                       {"ffn_up", "mlp.fc1"},
                       {"ffn_down", "mlp.fc2"}});
    g.turns_part = true;
    return g;
  }();
  return &layout;
}

}  // namespace

Family family_phi() {
  return llama_family<phi_style>(
      {.name = "phi",
       .model_types =
           {{"phi", "Phi", kUsualPhi, {"q_proj", "v_proj", "fc1", "fc2"}, gguf_of_phi()}},
       .read_config = read_phi_config,
       .head = phi_head,
       .dropouts = {"resid_pdrop", "embd_pdrop", "attention_dropout"}});
}

}  // namespace hone
