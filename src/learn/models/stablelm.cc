// StableLM (arXiv 2402.17834): Llama's blocks with layer norms, and a quarter of each head's channels
// turned.
#include "learn/models/errors.h"
#include "learn/models/llama_blocks.h"

namespace hone {
namespace {

// Defaults of Transformers' config class.
constexpr const char* kUsualStableLm =
    R"({"vocab_size": 50304, "hidden_size": 2560, "intermediate_size": 6912,
    "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 32,
    "hidden_act": "silu", "max_position_embeddings": 4096, "initializer_range": 0.02,
    "layer_norm_eps": 1e-05, "tie_word_embeddings": false, "use_qkv_bias": false,
    "qk_layernorm": false, "use_parallel_residual": false, "hidden_dropout": 0.0,
    "attention_dropout": 0.0, "pad_token_id": null, "bos_token_id": 0, "eos_token_id": 0,
    "rope_parameters": {"rope_theta": 10000.0, "rope_type": "default",
      "partial_rotary_factor": 0.25}})";

LlamaStyle stablelm_style(const ModelConfig& c) {
  return {.qkv_bias = c.flag("use_qkv_bias", false),
          .rotation = {.share = 0.25},
          .norm = layer_norm_of,
          .parallel = c.flag("use_parallel_residual", false),
          .mlp_out_dropout = c.real("hidden_dropout", 0)};
}

Status read_stablelm_config(ModelConfig& c) {
  if (c.flag("qk_layernorm", false))
    return Error(err::kConfigNotOffered, "config.json: qk_layernorm is not supported");
  return read_decoder_config(c, kUsualStableLm, stablelm_style(c), {"rope_pct"});
}

const GgufLayout* gguf_of_stablelm() {
  static const GgufLayout layout = [] {
    GgufLayout g = llama_gguf("stablelm", "");
    use_layer_norms(g, "layer_norm_eps");
    g.turns_part = true;
    g.finish = [](Json& config, const std::function<bool(const char*)>& has) {
      config["use_qkv_bias"] = has("blk.0.attn_q.bias");
      config["use_parallel_residual"] = !has("blk.0.ffn_norm.weight");
    };
    return g;
  }();
  return &layout;
}

}  // namespace

Family family_stablelm() {
  return llama_family<stablelm_style>(
      {.name = "stablelm",
       .model_types =
           {{"stablelm", "StableLm", kUsualStableLm, {"q_proj", "v_proj"}, gguf_of_stablelm()}},
       .read_config = read_stablelm_config,
       .dropouts = {"attention_dropout", "hidden_dropout"}});
}

}  // namespace hone
