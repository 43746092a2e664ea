// ModernBERT (Warner et al. 2024, arXiv 2412.13663): norms before the sublayers, rotary positions,
// gated MLPs, no biases; every third layer sees the whole text, the others a window, with another
// base of their rotation. Linear weights are [out, in].
#include "learn/models/activations.h"
#include "learn/models/encoder_gguf.h"
#include "learn/models/errors.h"
#include "learn/models/rotary_encoder.h"

namespace hone {
namespace {

constexpr const char* kModernDecoder = "decoder.weight";

// Defaults of Transformers' config class.
constexpr const char* kUsualModern =
    R"({"vocab_size": 50368, "hidden_size": 768, "intermediate_size": 1152,
    "num_hidden_layers": 22, "num_attention_heads": 12, "hidden_activation": "gelu",
    "max_position_embeddings": 8192, "initializer_range": 0.02, "norm_eps": 1e-5,
    "norm_bias": false, "pad_token_id": 50283, "eos_token_id": 50282, "bos_token_id": 50281,
    "cls_token_id": 50281, "sep_token_id": 50282, "attention_bias": false,
    "attention_dropout": 0.0, "global_attn_every_n_layers": 3, "global_rope_theta": 160000.0,
    "local_rope_theta": 10000.0, "local_attention": 128, "embedding_dropout": 0.0,
    "mlp_bias": false, "mlp_dropout": 0.0, "decoder_bias": true, "classifier_pooling": "cls",
    "classifier_dropout": 0.0, "classifier_bias": false, "classifier_activation": "gelu",
    "tie_word_embeddings": true})";

EncoderStyle modern_style() {
  return {.decoder = kModernDecoder,
          .keys = {.act = "hidden_activation",
                   .dropout = "mlp_dropout",
                   .attention_dropout = "attention_dropout",
                   .norm_eps = "norm_eps"},
          .positions = false,
          .token_types = false,
          .norm_eps = 1e-5,
          .usual_dropout = 0,
          .prefix = "model.",
          .multiple_choice = true};
}

// Whether the layer sees the whole text: config.json's layer_types, or every n-th.
bool sees_all(const ModelConfig& c, int64_t layer) {
  if (auto it = c.config.find("layer_types");
      it != c.config.end() && it->is_array() && layer < static_cast<int64_t>(it->size()))
    return (*it)[static_cast<size_t>(layer)] == "full_attention";
  return layer % c.integer("global_attn_every_n_layers", 3).value() == 0;
}

// Transformers 5 keeps the bases in rope_parameters, by kind of layer; 4 in keys of their own.
Result<double> modern_theta(const ModelConfig& c, bool all) {
  const char* kind = all ? "full_attention" : "sliding_attention";
  double theta = c.real("global_rope_theta", 160000);
  if (!all) theta = c.real("local_rope_theta", c.config.contains("local_rope_theta") ? theta : 1e4);
  ModelConfig one;  // with the parameters of the kind alone
  if (auto it = c.config.find("rope_parameters"); it != c.config.end() && it->is_object())
    if (auto at = it->find(kind); at != it->end() && !at->is_null())
      one.config["rope_parameters"] = *at;
  if (auto it = c.config.find("rope_scaling"); it != c.config.end())
    one.config["rope_scaling"] = *it;
  return read_rotary_theta(one, "rope_theta", theta);
}

Status read_modern_config(ModelConfig& c) {
  HONE_TRY(read_encoder_config(c, modern_style()));
  HONE_TRY(check_pairs(c));
  HONE_TRY(check_gated_activation(c, modern_style()));
  HONE_TRY(check_activation(c, "classifier_activation", "gelu"));
  HONE_TRY(check_range("'global_attn_every_n_layers'",
                       HONE_TRY(c.integer("global_attn_every_n_layers", 3)), 1, kMostLayers));
  HONE_TRY(check_range("'local_attention'", HONE_TRY(c.integer("local_attention", 128)), 2,
                       kLargestSize));
  for (const bool all : {true, false}) HONE_TRY(modern_theta(c, all));
  if (const std::string pooling = c.text("classifier_pooling", "cls");
      pooling != "cls" && pooling != "mean")
    return Error(err::kConfigNotOffered,
                 fmt::format("config.json: classifier_pooling '{}' is not supported", pooling))
        .todo("cls and mean work");
  return Ok{};
}

ValueId modern_words(ModelGraph& g) {
  const ModelConfig& c = g.config;
  TableOptions o{.zero_row = c.padding_token};
  if (c.tied) o.also = {kModernDecoder};
  return g.table(encoder_prefix(c, modern_style()) + "embeddings.tok_embeddings.weight", c.vocab,
                 c.hidden, o);
}

// A layer norm with config.json's norm_bias or without.
ValueId modern_norm(ModelGraph& g, const std::string& at, ValueId x) {
  const ModelConfig& c = g.config;
  const double eps = c.real("norm_eps", 1e-5);
  if (c.flag("norm_bias", false)) return g.layer_norm(at, x, eps);
  const ValueId gamma =
      g.weight({at + ".weight", {c.hidden}, ParamSpec::Init::ones, 0, /*decay=*/false});
  return ops::layer_norm(g.b, x, gamma, ops::constant(g.b, 0, {DType::f32, {c.hidden}}), eps).y;
}

struct ModernBody {
  ModelGraph& g;
  Builder& b = g.b;
  const ModelConfig& c = g.config;
  std::string body = encoder_prefix(c, modern_style());
  double drop_attention = c.real("attention_dropout", 0);
  ValueId all = kNoValue, near = kNoValue;  // frequencies

  ValueId frequencies(const char* name, bool of_all) const {
    return g.constant({name, {c.head_dim / 2}, [&config = c, of_all] {
                         return rotary_frequencies(modern_theta(config, of_all).value(),
                                                   config.head_dim);
                       }});
  }

  ValueId layer(int64_t i, ValueId x) const {
    const std::string at = fmt::format("{}layers.{}.", body, i);
    {
      Builder::Scope s(b, "attn");
      const ValueId y = i == 0 ? x : modern_norm(g, at + "attn_norm", x);
      const bool whole = sees_all(c, i);
      const bool bias = c.flag("attention_bias", false);
      const int64_t window = whole ? 0 : c.integer("local_attention", 128).value() / 2 + 1;
      const ValueId a = rotary_attention(g, i, at + "attn.Wqkv", y,
                                         {.frequencies = whole ? all : near,
                                          .bias = bias,
                                          .dropout = drop_attention,
                                          .window = window});
      x = g.dropout(g.linear(at + "attn.Wo", a, c.hidden, {.bias = bias}), drop_attention, x);
    }
    Builder::Scope s(b, "mlp");
    const bool bias = c.flag("mlp_bias", false);
    const int64_t F = c.integer("intermediate_size").value();
    const ValueId y = modern_norm(g, at + "mlp_norm", x);
    const auto [gate, value] = halves(g, g.linear(at + "mlp.Wi", y, 2 * F, {.bias = bias}));
    ValueId up = ops::gate(b, gate, value, activation_kind(hidden_act_of(c, modern_style())));
    up = g.dropout(up, c.real("mlp_dropout", 0));
    return ops::add(b, g.linear(at + "mlp.Wo", up, c.hidden, {.bias = bias}), x);
  }

  ValueId run() {
    all = frequencies("rope.inv_freq.full_attention", true);
    near = frequencies("rope.inv_freq.sliding_attention", false);
    ValueId x;  // [T,C]
    {
      Builder::Scope s(b, "embeddings");
      x = modern_norm(g, body + "embeddings.norm", g.embed(modern_words(g)));
      x = g.dropout(x, c.real("embedding_dropout", 0));
    }
    for (int64_t i = 0; i < c.layers; ++i) {
      Builder::Scope s(b, fmt::format("layers.{}", i));
      x = layer(i, x);
    }
    x = modern_norm(g, body + "final_norm", x);
    if (!reads_sequences(c.head)) return x;
    Builder::Scope s(b, "pooling");  // [S,C]
    return c.text("classifier_pooling", "cls") == "mean" ? mean_of_sequences(g, x)
                                                         : g.first_tokens(x);
  }
};

HeadLayer modern_head(ModelGraph& g, ValueId x) {
  const ModelConfig& c = g.config;
  g.of_head = true;
  const LinearLayer::Rows rows = c.head == Head::masked_lm ? LinearLayer::Rows::labels
                                 : reads_sequences(c.head) ? LinearLayer::Rows::sequences
                                                           : LinearLayer::Rows::tokens;
  x = g.linear("head.dense", x, c.hidden, {.bias = c.flag("classifier_bias", false), .rows = rows});
  x = modern_norm(g, "head.norm", activate(g.b, x, c.text("classifier_activation", "gelu")));
  if (c.head == Head::masked_lm) {
    const ValueId matrix = c.tied ? modern_words(g) : g.matrix(kModernDecoder, c.vocab, c.hidden);
    return {x, matrix, c.flag("decoder_bias", true) ? g.zeros("decoder.bias", c.vocab) : kNoValue};
  }
  const double drop = c.real("classifier_dropout", 0);
  x = reads_sequences(c.head) ? g.dropout_of_sequences(x, drop) : g.dropout(x, drop);
  return encoder_classifier(g, "classifier", x);
}

// llama.cpp: every n-th layer from the first on sees all; no biases; gelu or silu.
std::string modern_unwritable(const ModelConfig& c) {
  for (const char* key : {"attention_bias", "mlp_bias", "norm_bias"})
    if (c.flag(key, false)) return fmt::format("its {} is true", key);
  const std::string act = hidden_act_of(c, modern_style());
  if (act != "gelu" && act != "silu") return fmt::format("its activation is {}", act);
  if (c.head == Head::sequence_classification) {
    if (c.text("classifier_pooling", "cls") != "mean") return "its classifier_pooling is not mean";
    if (c.text("classifier_activation", "gelu") != "gelu")
      return "its classifier_activation is not gelu";
    if (c.flag("classifier_bias", false)) return "its classifier_bias is true";
  }
  const int64_t period = c.integer("global_attn_every_n_layers", 3).value();
  for (int64_t i = 0; i < c.layers; ++i)
    if (sees_all(c, i) != (i % period == 0))
      return fmt::format("its layer_types are not full attention in every {}th layer", period);
  return "";
}

const GgufLayout* gguf_of_modernbert() {
  static const GgufLayout layout = [] {
    GgufLayout g = encoder_gguf("modern-bert", "", modern_style());
    const auto number = [](const char* gguf, const char* config, auto values) {
      return GgufKey{.gguf = gguf, .config = config, .values = values};
    };
    const auto theta = [](const char* gguf, const char* config, auto real) {
      return GgufKey{.gguf = gguf, .config = config, .is_real = true, .real = real};
    };
    g.keys.insert(g.keys.end(),
                  {number("attention.sliding_window", "local_attention",
                          [](const ModelConfig& c) {
                            return std::vector{c.integer("local_attention", 128).value()};
                          }),
                   number("attention.sliding_window_pattern", "global_attn_every_n_layers",
                          [](const ModelConfig& c) {
                            return std::vector{c.integer("global_attn_every_n_layers", 3).value()};
                          }),
                   theta("rope.freq_base", "global_rope_theta",
                         [](const ModelConfig& c) { return modern_theta(c, true).value(); }),
                   theta("rope.freq_base_swa", "local_rope_theta",
                         [](const ModelConfig& c) { return modern_theta(c, false).value(); }),
                   {.gguf = "hidden_activation", .config = "hidden_activation", .is_text = true}});
    std::erase_if(g.keys, [](const GgufKey& key) { return key.of_tokenizer; });
    g.once = {{"token_embd", "embeddings.tok_embeddings"},
              {"token_embd_norm", "embeddings.norm"},
              {"output_norm", "final_norm"}};
    g.of_layer = {{"attn_norm", "attn_norm"}, {"attn_qkv", "attn.Wqkv"}, {"attn_output", "attn.Wo"},
                  {"ffn_norm", "mlp_norm"},   {"ffn_up", "mlp.Wi"},      {"ffn_down", "mlp.Wo"}};
    g.layers = "layers.";
    g.classifier = {{"cls", "head.dense"}, {"cls.norm", "head.norm"}, {"cls.output", "classifier"}};
    g.unwritable = modern_unwritable;
    g.finish = [](Json& config, const std::function<bool(const char*)>& has) {
      if (has("cls.output.weight")) config["classifier_pooling"] = "mean";
    };
    return g;
  }();
  return &layout;
}

}  // namespace

Family family_modernbert() {
  return encoder_family(
      {.name = "modernbert",
       .model_types = {{"modernbert", "ModernBert", kUsualModern, {}, gguf_of_modernbert()}},
       .read_config = read_modern_config,
       .body = [](ModelGraph& g) { return ModernBody{g}.run(); },
       .head = modern_head,
       .dropouts = {"embedding_dropout"},
       .unread = {".rotary_emb.inv_freq"}},
      modern_style());
}

}  // namespace hone
