// GPT-NeoX and Pythia (arXiv 2204.06745, 2304.01373): layer norms with biases, attention and MLP side
// by side after norms of their own, a quarter of each head's channels turned.
#include "learn/models/activations.h"
#include "learn/models/config_keys.h"
#include "learn/models/errors.h"
#include "learn/models/gguf_layout.h"
#include "learn/models/query_key_value.h"
#include "learn/models/rotation.h"

namespace hone {
namespace {

// Defaults of Transformers' config class.
constexpr const char* kUsualNeox =
    R"({"vocab_size": 50432, "hidden_size": 6144, "num_hidden_layers": 44,
    "num_attention_heads": 64, "intermediate_size": 24576, "hidden_act": "gelu",
    "attention_dropout": 0.0, "hidden_dropout": 0.0, "max_position_embeddings": 2048,
    "initializer_range": 0.02, "layer_norm_eps": 1e-05, "tie_word_embeddings": false,
    "use_parallel_residual": true, "attention_bias": true, "pad_token_id": null,
    "bos_token_id": 0, "eos_token_id": 2, "rope_parameters": {"rope_theta": 10000.0,
    "rope_type": "default", "partial_rotary_factor": 0.25}})";

constexpr const char* kNeoxHead = "embed_out.weight";

RotationStyle neox_rotation() {
  return {.share = 0.25, .theta_key = "rotary_emb_base", .share_key = "rotary_pct"};
}

Status read_neox_config(ModelConfig& c) {
  const nlohmann::json usual = HONE_TRY(parse_json(kUsualNeox, "usual"));
  HONE_TRY(accept_keys(c, usual,
                       {"rotary_emb_base", "rotary_pct", "rope_theta", "rope_scaling",
                        "partial_rotary_factor", "classifier_dropout"}));
  add_missing_keys(c, usual, {"rotary_emb_base", "rotary_pct", "rope_scaling", "rope_parameters"});
  c.vocab = HONE_TRY(c.integer("vocab_size"));
  c.hidden = HONE_TRY(c.integer("hidden_size"));
  c.layers = HONE_TRY(c.integer("num_hidden_layers"));
  c.heads = c.kv_heads = HONE_TRY(c.integer("num_attention_heads"));
  c.max_positions = HONE_TRY(c.integer("max_position_embeddings"));
  c.tied = c.flag("tie_word_embeddings", false);
  if (c.heads < 1 || c.hidden % c.heads != 0)
    return Error(err::kBadConfig, fmt::format("config.json: hidden_size {} is not a multiple of "
                                              "num_attention_heads {}",
                                              c.hidden, c.heads));
  c.head_dim = c.hidden / c.heads;
  HONE_TRY(check_rotation(c, neox_rotation()));
  return check_activation(c, "hidden_act", "gelu");
}

ValueId neox_words(ModelGraph& g) {
  return g.table("gpt_neox.embed_in.weight", g.config.vocab, g.config.hidden);
}

ValueId neox_body(ModelGraph& g) {
  Builder& b = g.b;
  const ModelConfig& c = g.config;
  const int64_t C = c.hidden, F = c.integer("intermediate_size").value();
  const double eps = c.real("layer_norm_eps", 1e-5), drop = c.real("hidden_dropout", 0);
  const bool parallel = c.flag("use_parallel_residual", true);
  const LinearLayer projection{.bias = c.flag("attention_bias", true)};
  const Rotation rotation(g, neox_rotation());
  ValueId x;  // [T,C], the residual stream
  {
    Builder::Scope s(b, "embed");
    x = g.dropout(g.with_noise(ops::embedding(b, neox_words(g), g.ids)), drop);
  }
  for (int64_t i = 0; i < c.layers; ++i) {
    const std::string h = fmt::format("gpt_neox.layers.{}.", i);
    Builder::Scope block(b, fmt::format("layers.{}", i));
    const ValueId in = x;
    {
      Builder::Scope s(b, "attention");
      ValueId y = g.layer_norm(h + "input_layernorm", x, eps);
      const QueriesKeysValues parts =
          split_by_group(g, g.linear(h + "attention.query_key_value", y, 3 * C, projection));
      ValueId q = rotation.turn(parts.q, c.heads), k = rotation.turn(parts.k, c.heads);
      ValueId a = g.self_attention(i, q, k, parts.v, 1 / std::sqrt(static_cast<double>(c.head_dim)),
                                   c.real("attention_dropout", 0));
      x = g.dropout(g.linear(h + "attention.dense", a, C, projection), drop, x);
    }
    Builder::Scope s(b, "mlp");
    ValueId y = g.layer_norm(h + "post_attention_layernorm", parallel ? in : x, eps);
    ValueId up = activate(b, g.linear(h + "mlp.dense_h_to_4h", y, F), c.text("hidden_act", "gelu"));
    x = g.dropout(g.linear(h + "mlp.dense_4h_to_h", up, C), drop, x);
  }
  Builder::Scope s(b, "norm");
  return g.layer_norm("gpt_neox.final_layer_norm", x, eps);
}

HeadLayer neox_head(ModelGraph& g, ValueId hidden) {
  const ModelConfig& c = g.config;
  return {hidden, c.tied ? neox_words(g) : g.matrix(kNeoxHead, c.vocab, c.hidden)};
}

std::string unwritable_neox(const ModelConfig& c) {
  return c.flag("attention_bias", true) ? "" : "its attention has no biases";
}

const GgufLayout* gguf_of_neox() {
  static const GgufLayout layout = {
      .architecture = "gptneox",
      .keys = {{"context_length", "max_position_embeddings"},
               {"embedding_length", "hidden_size"},
               {"block_count", "num_hidden_layers"},
               {"attention.head_count", "num_attention_heads"},
               {"vocab_size", "vocab_size"},
               {"feed_forward_length", "intermediate_size"},
               {"attention.layer_norm_epsilon", "layer_norm_eps", true},
               {"use_parallel_residual", "use_parallel_residual"},
               {"rope.dimension_count", ""},
               {"rope.freq_base", "rotary_emb_base", true}},
      .needed = {"num_hidden_layers", "hidden_size", "intermediate_size", "num_attention_heads"},
      .once = {{"token_embd", "gpt_neox.embed_in"},
               {"output_norm", "gpt_neox.final_layer_norm"},
               {"output", "embed_out"}},
      .of_layer = {{"attn_norm", "input_layernorm"},
                   {"attn_qkv", "attention.query_key_value"},
                   {"attn_output", "attention.dense"},
                   {"ffn_norm", "post_attention_layernorm"},
                   {"ffn_up", "mlp.dense_h_to_4h"},
                   {"ffn_down", "mlp.dense_4h_to_h"}},
      .layers = "gpt_neox.layers.",
      .rotates = true,
      .rotation = neox_rotation(),
      .turns_part = true,
      .by_group = {".query_key_value.weight", ".query_key_value.bias"},
      .unwritable = unwritable_neox};
  return &layout;
}

}  // namespace

Family family_gpt_neox() {
  return {.name = "gpt_neox",
          .model_types = {{"gpt_neox", "GPTNeoX", kUsualNeox, {"query_key_value"}, gguf_of_neox()}},
          .heads = {{Head::causal_lm, "ForCausalLM"}},
          .read_config = read_neox_config,
          .body = neox_body,
          .head = neox_head,
          .dropouts = {"attention_dropout", "hidden_dropout"},
          .body_prefix = "gpt_neox.",
          .unread = {".attention.bias", ".attention.masked_bias", ".rotary_emb.inv_freq"},
          .separate_head = kNeoxHead,
          .module_order = {{"input_layernorm", "post_attention_layernorm", "attention", "mlp"}}};
}

}  // namespace hone
