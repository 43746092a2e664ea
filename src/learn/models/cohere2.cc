// Cohere's Command models: one layer norm without bias in front of attention and MLP, which run side
// by side; pairs of neighbours turn; scaled logits.
//   cohere   Command R
//   cohere2  Command R7B: layers without a window do not turn (arXiv 2501.18795)
#include "learn/models/errors.h"
#include "learn/models/llama_blocks.h"

namespace hone {
namespace {

// Defaults of Transformers' config classes.
constexpr const char* kUsualCohere =
    R"({"vocab_size": 256000, "hidden_size": 8192, "intermediate_size": 22528,
    "logit_scale": 0.0625, "num_hidden_layers": 40, "num_attention_heads": 64,
    "num_key_value_heads": null, "hidden_act": "silu", "max_position_embeddings": 8192,
    "initializer_range": 0.02, "layer_norm_eps": 1e-05, "tie_word_embeddings": true,
    "attention_bias": false, "attention_dropout": 0.0, "use_qk_norm": false, "pad_token_id": 0,
    "bos_token_id": 5, "eos_token_id": 255001,
    "rope_parameters": {"rope_theta": 500000.0, "rope_type": "default"}})";
constexpr const char* kUsualCohere2 =
    R"({"vocab_size": 256000, "hidden_size": 8192, "intermediate_size": 22528,
    "logit_scale": 0.0625, "num_hidden_layers": 40, "num_attention_heads": 64,
    "num_key_value_heads": null, "hidden_act": "silu", "max_position_embeddings": 8192,
    "initializer_range": 0.02, "layer_norm_eps": 1e-05, "tie_word_embeddings": true,
    "attention_bias": false, "attention_dropout": 0.0, "sliding_window": 4096, "pad_token_id": 0,
    "bos_token_id": 5, "eos_token_id": 255001,
    "rope_parameters": {"rope_theta": 10000.0, "rope_type": "default"}})";

constexpr int64_t kCoherePeriod = 4;  // layers, the last of which has no window

bool is_cohere2(const ModelConfig& c) { return c.text("model_type", "") == "cohere2"; }

int64_t cohere_period(const ModelConfig& c) {
  return c.integer("sliding_window_pattern", kCoherePeriod).value();
}

bool cohere2_rotates(const ModelConfig& c, int64_t layer) {
  const auto it = c.config.find("layer_types");
  if (it != c.config.end() && it->is_array() && layer < static_cast<int64_t>(it->size()))
    return (*it)[static_cast<size_t>(layer)] == "sliding_attention";
  return (layer + 1) % cohere_period(c) != 0;
}

LlamaStyle cohere_style(const ModelConfig& c) {
  const bool bias = c.flag("attention_bias", false);
  LlamaStyle s{.qkv_bias = bias,
               .output_bias = bias,
               .rotation = {.theta = 5e5, .interleaved = true},
               .norm = scaled_layer_norm_of,
               .parallel = true};
  if (!is_cohere2(c)) return s;
  s.rotation.theta = 1e4;
  s.rotates = cohere2_rotates;
  s.window_period = cohere_period(c);
  return s;
}

Status read_cohere_config(ModelConfig& c) {
  if (c.flag("use_qk_norm", false))
    return Error(err::kConfigNotOffered, "config.json: use_qk_norm is not supported");
  if (HONE_TRY(c.integer("sliding_window_pattern", kCoherePeriod)) < 1)
    return Error(err::kBadConfig, "config.json: sliding_window_pattern is 0");
  HONE_TRY(read_decoder_config(
      c, is_cohere2(c) ? kUsualCohere2 : kUsualCohere, cohere_style(c),
      {"sliding_window_pattern", "use_gated_activation", "use_embedding_sharing",
       "use_parallel_block", "use_parallel_embedding", "position_embedding_type",
       "order_of_interleaved_layers", "layer_switch", "rotary_pct"}));
  if (is_cohere2(c)) c.window = HONE_TRY(c.integer("sliding_window", 0));
  return Ok{};
}

HeadLayer cohere_head(ModelGraph& g, ValueId hidden) {
  return llama_head(g, times(g.b, hidden, g.config.real("logit_scale", 0.0625)));
}

GgufLayout cohere_gguf(const char* architecture) {
  GgufLayout g = llama_gguf(architecture, "");
  use_layer_norms(g, "layer_norm_eps");
  g.keys.push_back({"logit_scale", "logit_scale", true});
  rename_tensors(g, {{"ffn_norm", ""}});
  return g;
}

const GgufLayout* gguf_of_cohere() {
  static const GgufLayout layout = cohere_gguf("command-r");
  return &layout;
}

const GgufLayout* gguf_of_cohere2() {
  static const GgufLayout layout = [] {
    GgufLayout g = cohere_gguf("cohere2");
    g.keys.push_back({"attention.sliding_window", "sliding_window"});
    g.unwritable = [](const ModelConfig& c) { return windows_other_than(c, kCoherePeriod); };
    return g;
  }();
  return &layout;
}

}  // namespace

Family family_cohere2() {
  return llama_family<cohere_style>(
      {.name = "cohere2",
       .model_types =
           {{"cohere2", "Cohere2", kUsualCohere2, {"q_proj", "v_proj"}, gguf_of_cohere2()},
            {"cohere", "Cohere", kUsualCohere, {"q_proj", "v_proj"}, gguf_of_cohere()}},
       .read_config = read_cohere_config,
       .head = cohere_head});
}

}  // namespace hone
