// OPT (arXiv 2205.01068): learned positions that begin at 2, layer norms before the sublayers (after
// them in the model of 350M weights, whose embeddings are narrower than its layers).
#include "learn/models/activations.h"
#include "learn/models/config_keys.h"
#include "learn/models/errors.h"
#include "learn/models/gguf_layout.h"

namespace hone {
namespace {

// Defaults of Transformers' config class.
constexpr const char* kUsualOpt =
    R"({"vocab_size": 50272, "hidden_size": 768, "num_hidden_layers": 12, "ffn_dim": 3072,
    "max_position_embeddings": 2048, "do_layer_norm_before": true,
    "_remove_final_layer_norm": false, "word_embed_proj_dim": null, "dropout": 0.1,
    "attention_dropout": 0.0, "num_attention_heads": 12, "activation_function": "relu",
    "layerdrop": 0.0, "init_std": 0.02, "enable_bias": true,
    "layer_norm_elementwise_affine": true, "tie_word_embeddings": true, "pad_token_id": 1,
    "bos_token_id": 2, "eos_token_id": 2})";

constexpr const char* kOptHead = "lm_head.weight";
constexpr int64_t kFirstPlace = 2;  // row of the table of positions for position 0
constexpr double kOptEps = 1e-5;

Status read_opt_config(ModelConfig& c) {
  const nlohmann::json usual = HONE_TRY(parse_json(kUsualOpt, "usual"));
  HONE_TRY(accept_keys(c, usual, {"activation_dropout"}));
  add_missing_keys(c, usual, {});
  c.vocab = HONE_TRY(c.integer("vocab_size"));
  c.hidden = HONE_TRY(c.integer("hidden_size"));
  c.layers = HONE_TRY(c.integer("num_hidden_layers"));
  c.heads = c.kv_heads = HONE_TRY(c.integer("num_attention_heads"));
  c.max_positions = HONE_TRY(c.integer("max_position_embeddings"));
  HONE_TRY(check_range("'ffn_dim'", HONE_TRY(c.integer("ffn_dim")), 1, kLargestSize));
  HONE_TRY(check_range("'word_embed_proj_dim'",
                       HONE_TRY(c.integer("word_embed_proj_dim", c.hidden)), 1, kLargestSize));
  c.tied = c.flag("tie_word_embeddings", true);
  if (const int64_t pad = HONE_TRY(c.integer("pad_token_id", c.vocab)); pad < c.vocab)
    c.padding_token = pad;
  if (c.heads < 1 || c.hidden % c.heads != 0)
    return Error(err::kBadConfig,
                 fmt::format("config.json: {} heads cannot share {} channels", c.heads, c.hidden));
  c.head_dim = c.hidden / c.heads;
  for (const char* key : {"enable_bias", "layer_norm_elementwise_affine"})
    if (!c.flag(key, true))
      return Error(err::kConfigNotOffered,
                   fmt::format("config.json: {} = false is not supported", key));
  if (c.real("layerdrop", 0) != 0)
    return Error(err::kConfigNotOffered, "config.json: layerdrop is not supported");
  return check_activation(c, "activation_function", "relu");
}

int64_t word_width(const ModelConfig& c) {
  return c.integer("word_embed_proj_dim", c.hidden).value();
}

ValueId opt_words(ModelGraph& g) {
  TableOptions o{.zero_row = g.config.padding_token};
  if (g.config.tied) o.also = {kOptHead};
  return g.table("model.decoder.embed_tokens.weight", g.config.vocab, word_width(g.config), o);
}

ValueId opt_body(ModelGraph& g) {
  Builder& b = g.b;
  const ModelConfig& c = g.config;
  g.init_std = c.real("init_std", 0.02);
  const int64_t C = c.hidden, W = word_width(c), F = c.integer("ffn_dim").value();
  const double drop = c.real("dropout", 0.1);
  const bool first = c.flag("do_layer_norm_before", true);
  const std::string act = c.text("activation_function", "relu");
  const std::string body = "model.decoder.";
  ValueId x;  // [T,C], the residual stream
  {
    Builder::Scope s(b, "embed");
    ValueId tokens = g.embed(opt_words(g));
    if (W != C) tokens = g.linear(body + "project_in", tokens, C, {.bias = false});
    ValueId places = ops::add(b, g.positions, ops::constant(b, kFirstPlace, {DType::i32, {}}));
    ValueId table = g.table(body + "embed_positions.weight", c.max_positions + kFirstPlace, C);
    x = ops::add(b, tokens, ops::embedding(b, table, places));
  }
  for (int64_t i = 0; i < c.layers; ++i) {
    const std::string h = fmt::format("{}layers.{}.", body, i);
    Builder::Scope block(b, fmt::format("layers.{}", i));
    const auto norm = [&](const char* name, ValueId y, bool here) {
      return here ? g.layer_norm(h + name, y, kOptEps) : y;
    };
    {
      Builder::Scope s(b, "self_attn");
      ValueId y = norm("self_attn_layer_norm", x, first);
      ValueId q = g.linear(h + "self_attn.q_proj", y, C);
      ValueId k = g.linear(h + "self_attn.k_proj", y, C);
      ValueId v = g.linear(h + "self_attn.v_proj", y, C);
      ValueId a = g.self_attention(i, q, k, v, 1 / std::sqrt(static_cast<double>(c.head_dim)),
                                   c.real("attention_dropout", 0));
      x = g.dropout(g.linear(h + "self_attn.out_proj", a, C), drop, x);
      x = norm("self_attn_layer_norm", x, !first);
    }
    Builder::Scope s(b, "mlp");
    ValueId y = norm("final_layer_norm", x, first);
    ValueId up = activate(b, g.linear(h + "fc1", y, F), act);
    x = g.dropout(g.linear(h + "fc2", up, C), drop, x);
    x = norm("final_layer_norm", x, !first);
  }
  Builder::Scope s(b, "norm");
  if (first && !c.flag("_remove_final_layer_norm", false))
    x = g.layer_norm(body + "final_layer_norm", x, kOptEps);
  return W == C ? x : g.linear(body + "project_out", x, W, {.bias = false});
}

HeadLayer opt_head(ModelGraph& g, ValueId hidden) {
  const ModelConfig& c = g.config;
  return {hidden, c.tied ? opt_words(g) : g.matrix(kOptHead, c.vocab, word_width(c))};
}

}  // namespace

Family family_opt() {
  return {.name = "opt",
          .model_types = {{"opt", "OPT", kUsualOpt, {"q_proj", "v_proj"}}},
          .heads = {{Head::causal_lm, "ForCausalLM"}},
          .read_config = read_opt_config,
          .body = opt_body,
          .head = opt_head,
          .dropouts = {"dropout", "attention_dropout"},
          // The first OPT checkpoints were saved from the bare model.
          .body_prefix = "model.",
          .separate_head = kOptHead,
          .module_order = {{"embed_tokens", "embed_positions", "project_out", "project_in",
                            "k_proj", "v_proj", "q_proj", "self_attn", "self_attn_layer_norm",
                            "fc1", "fc2", "final_layer_norm", "layers"}}};
}

}  // namespace hone
