// Gemma's text models: Llama's blocks with RMS norms times 1 + w, scaled embeddings and a gated
// tanh GELU.
//   gemma        arXiv 2403.08295
//   gemma2       norms around both sublayers, capped scores and logits, a window in every second
//                layer (arXiv 2408.00118)
//   gemma3_text  norms around both sublayers and over each head; five layers with a window for each
//                without one, with frequencies of their own (arXiv 2503.19786)
#include "learn/models/errors.h"
#include "learn/models/llama_blocks.h"

namespace hone {
namespace {

// Defaults of Transformers' config class.
constexpr const char* kUsualGemma =
    R"({"vocab_size": 256000, "hidden_size": 3072, "intermediate_size": 24576,
    "num_hidden_layers": 28, "num_attention_heads": 16, "num_key_value_heads": 16,
    "head_dim": 256, "hidden_act": "gelu_pytorch_tanh", "max_position_embeddings": 8192,
    "initializer_range": 0.02, "rms_norm_eps": 1e-06, "tie_word_embeddings": true,
    "attention_bias": false, "attention_dropout": 0.0, "pad_token_id": 0, "bos_token_id": 2,
    "eos_token_id": 1, "rope_parameters": {"rope_theta": 10000.0, "rope_type": "default"}})";
constexpr const char* kUsualGemma2 =
    R"({"vocab_size": 256000, "hidden_size": 2304, "intermediate_size": 9216,
    "num_hidden_layers": 26, "num_attention_heads": 8, "num_key_value_heads": 4,
    "head_dim": 256, "hidden_activation": "gelu_pytorch_tanh", "max_position_embeddings": 8192,
    "initializer_range": 0.02, "rms_norm_eps": 1e-06, "tie_word_embeddings": true,
    "attention_bias": false, "attention_dropout": 0.0, "pad_token_id": 0, "bos_token_id": 2,
    "eos_token_id": 1, "query_pre_attn_scalar": 256, "sliding_window": 4096,
    "final_logit_softcapping": 30.0, "attn_logit_softcapping": 50.0,
    "rope_parameters": {"rope_theta": 10000.0, "rope_type": "default"}})";
constexpr const char* kUsualGemma3 =
    R"({"vocab_size": 262208, "hidden_size": 2304, "intermediate_size": 9216,
    "num_hidden_layers": 26, "num_attention_heads": 8, "num_key_value_heads": 4,
    "head_dim": 256, "hidden_activation": "gelu_pytorch_tanh", "max_position_embeddings": 131072,
    "initializer_range": 0.02, "rms_norm_eps": 1e-06, "tie_word_embeddings": true,
    "attention_bias": false, "attention_dropout": 0.0, "pad_token_id": 0, "bos_token_id": 2,
    "eos_token_id": 1, "query_pre_attn_scalar": 256, "sliding_window": 4096,
    "final_logit_softcapping": null, "attn_logit_softcapping": null,
    "rope_parameters": {
      "full_attention": {"rope_theta": 1000000.0, "rope_type": "default"},
      "sliding_attention": {"rope_theta": 10000.0, "rope_type": "default"}}})";

bool is_gemma3(const ModelConfig& c) { return c.text("model_type", "") == "gemma3_text"; }
bool is_gemma1(const ModelConfig& c) { return c.text("model_type", "") == "gemma"; }
const char* usual_gemma(const ModelConfig& c) {
  return is_gemma1(c) ? kUsualGemma : is_gemma3(c) ? kUsualGemma3 : kUsualGemma2;
}

LlamaStyle gemma_style(const ModelConfig& c) {
  const bool bias = c.flag("attention_bias", false);
  LlamaStyle s{.qkv_bias = bias,
               .output_bias = bias,
               .norm = rms_norm_from_one,
               .act = "gelu_pytorch_tanh",
               .embed_scale = std::sqrt(static_cast<double>(c.hidden))};
  if (is_gemma1(c)) return s;
  s.window_period = 2;
  if (is_gemma3(c)) {
    s.scales_in_table = true;
    s.window_period =
        c.integer("sliding_window_pattern", c.integer("_sliding_window_pattern", 6).value())
            .value();
    s.rotation = {.theta = 1e6, .local_theta_key = "rope_local_base_freq"};
    s.before_rotation = norm_of_heads_from_one;
  }
  s.attention_softcap = c.real("attn_logit_softcapping", 0);
  s.attention_out_norm = "post_attention_layernorm";
  s.mlp_norm = "pre_feedforward_layernorm";
  s.mlp_out_norm = "post_feedforward_layernorm";
  s.attention_scale = 1 / std::sqrt(c.real("query_pre_attn_scalar", 256));
  return s;
}

Status read_gemma_config(ModelConfig& c) {
  if (c.flag("use_bidirectional_attention", false))
    return Error(err::kConfigNotOffered,
                 "config.json: use_bidirectional_attention is not supported")
        .todo("use a model that predicts the next token");
  for (const char* key : {"attn_logit_softcapping", "final_logit_softcapping"})
    if (c.real(key, 0) < 0)
      return Error(err::kBadConfig, fmt::format("config.json: {} is negative", key));
  // The first folders say "gelu" and mean the other (Transformers' GemmaConfig).
  const char* act_key = is_gemma1(c) ? "hidden_act" : "hidden_activation";
  if (c.text(act_key, "") == "gelu") c.config[act_key] = "gelu_pytorch_tanh";
  for (const char* key : {"sliding_window_pattern", "_sliding_window_pattern"})
    if (HONE_TRY(c.integer(key, 1)) < 1)
      return Error(err::kBadConfig, fmt::format("config.json: {} is 0", key));
  HONE_TRY(read_decoder_config(c, usual_gemma(c), gemma_style(c),
                               {"hidden_act", "hidden_activation", "use_bidirectional_attention",
                                "sliding_window_pattern", "_sliding_window_pattern"},
                               act_key));
  if (!is_gemma1(c)) c.window = HONE_TRY(c.integer("sliding_window", 0));
  if (c.real("query_pre_attn_scalar", 256) <= 0)
    return Error(err::kBadConfig, "config.json: query_pre_attn_scalar is not positive");
  return Ok{};
}

// llama.cpp scales scores by the head size, but in the models of 27 billion weights.
double gguf_score_size(int64_t layers, int64_t hidden, int64_t heads, int64_t head_dim) {
  return static_cast<double>(layers == 46 || layers == 62 ? hidden / heads : head_dim);
}

std::string unwritable_gemma(const ModelConfig& c) {
  if (c.real("query_pre_attn_scalar", 256) !=
      gguf_score_size(c.layers, c.hidden, c.heads, c.head_dim))
    return "its query_pre_attn_scalar is not the head size";
  if (rope_parameters(c, gemma_style(c).rotation, true)["rope_theta"] != 10000.0)
    return "its rope_local_base_freq is not 10000";
  return windows_other_than(c, is_gemma3(c) ? 6 : 2);
}

void finish_gemma(Json& config, const std::function<bool(const char*)>&) {
  const auto size = [&](const char* key) { return config.value(key, int64_t{1}); };
  config["query_pre_attn_scalar"] =
      gguf_score_size(size("num_hidden_layers"), size("hidden_size"), size("num_attention_heads"),
                      config.value("head_dim", int64_t{256}));
}

GgufLayout gemma_gguf(const char* architecture) {
  GgufLayout g = llama_gguf(architecture, kGgufHeadSize);
  g.keys.push_back({"attention.value_length", ""});
  g.plus_one = {"norm.weight"};
  return g;
}

const GgufLayout* gguf_of_gemma() {
  static const GgufLayout layout = gemma_gguf("gemma");
  return &layout;
}

GgufLayout later_gemma_gguf(const char* architecture) {
  GgufLayout g = gemma_gguf(architecture);
  g.keys.push_back({"attention.sliding_window", "sliding_window"});
  rename_tensors(g, {{"ffn_norm", "pre_feedforward_layernorm"},
                     {"post_attention_norm", "post_attention_layernorm"},
                     {"post_ffw_norm", "post_feedforward_layernorm"}});
  g.finish = finish_gemma;
  g.unwritable = unwritable_gemma;
  return g;
}

const GgufLayout* gguf_of_gemma2() {
  static const GgufLayout layout = [] {
    GgufLayout g = later_gemma_gguf("gemma2");
    g.keys.push_back({"attn_logit_softcapping", "attn_logit_softcapping", true});
    g.keys.push_back({"final_logit_softcapping", "final_logit_softcapping", true});
    return g;
  }();
  return &layout;
}

const GgufLayout* gguf_of_gemma3() {
  static const GgufLayout layout = [] {
    GgufLayout g = later_gemma_gguf("gemma3");
    rename_tensors(g, {{"attn_q_norm", "self_attn.q_norm"}, {"attn_k_norm", "self_attn.k_norm"}});
    return g;
  }();
  return &layout;
}

}  // namespace

Family family_gemma() {
  return llama_family<gemma_style>(
      {.name = "gemma",
       .model_types =
           {{"gemma", "Gemma", kUsualGemma, {"q_proj", "v_proj"}, gguf_of_gemma()},
            {"gemma2", "Gemma2", kUsualGemma2, {"q_proj", "v_proj"}, gguf_of_gemma2()},
            {"gemma3_text", "Gemma3", kUsualGemma3, {"q_proj", "v_proj"}, gguf_of_gemma3()}},
       .read_config = read_gemma_config,
       .head = capped_head,
       .safe_in_f16 = false});
}

}  // namespace hone
