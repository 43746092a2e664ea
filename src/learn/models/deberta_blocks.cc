#include "learn/models/deberta_blocks.h"

#include <cmath>

#include "base/core/text.h"
#include "learn/models/activations.h"
#include "learn/models/errors.h"

namespace hone {
namespace {

// Relative positions: their table has 2 * span rows; with buckets (more than 0), the last one is of
// the distance `most`.
struct Span {
  int64_t span = 0, buckets = 0, most = 0;
};

Span span_of(const ModelConfig& c, const DebertaStyle& style) {
  Span s;
  s.most = static_cast<int64_t>(c.real("max_relative_positions", -1));
  if (s.most < 1) s.most = c.integer("max_position_embeddings", 512).value();
  if (style.buckets)
    s.buckets = std::max<int64_t>(0, static_cast<int64_t>(c.real("position_buckets", -1)));
  s.span = s.buckets > 0 ? s.buckets : s.most;
  return s;
}

// The row of a key `d` places before its query. With buckets: single distances up to the middle, then
// in logarithmic steps; in f32 as Transformers computes it.
int64_t row_at(const Span& s, int64_t d) {
  int64_t bucket = d;
  const int64_t mid = s.buckets / 2, apart = std::abs(d);
  if (s.buckets > 0 && apart > mid) {
    const float middle = static_cast<float>(mid);
    const float range =
        std::log(static_cast<float>(static_cast<double>(s.most - 1) / static_cast<double>(mid)));
    const float steps =
        std::log(static_cast<float>(apart) / middle) / range * static_cast<float>(mid - 1);
    bucket = static_cast<int64_t>(std::ceil(steps)) + mid;
    if (d < 0) bucket = -bucket;
  }
  return std::clamp<int64_t>(bucket + s.span, 0, 2 * s.span - 1);
}

// Row d + reach is that of distance d, -reach <= d <= reach; what is farther has the last one's.
int64_t row_reach(const Span& s) { return s.buckets > 0 ? s.most : s.span; }

// config.json's pos_att_type: a list, or words with | between them.
std::vector<std::string> position_kinds(const ModelConfig& c) {
  std::vector<std::string> kinds;
  const auto it = c.config.find("pos_att_type");
  if (it != c.config.end() && it->is_string())
    for (const std::string& kind : split(it->get<std::string>(), '|'))
      kinds.emplace_back(trim(kind));
  if (it != c.config.end() && it->is_array())
    for (const auto& kind : *it)
      kinds.push_back(kind.is_string() ? kind.get<std::string>() : kind.dump());
  return kinds;
}

bool relative(const ModelConfig& c) {
  return c.flag("relative_attention", false) && (has_position(c, "c2p") || has_position(c, "p2c"));
}

int64_t convolution(const ModelConfig& c) {
  return std::max<int64_t>(0, static_cast<int64_t>(c.real("conv_kernel_size", 0)));
}

// Whether a |-separated text of config.json has the word.
bool has_word(const ModelConfig& c, const char* key, const std::string& word) {
  return ("|" + c.text(key, "") + "|").find("|" + word + "|") != std::string::npos;
}

EncoderStyle style_of(const ModelConfig& c) {
  EncoderStyle style = deberta_names();
  style.positions = c.flag("position_biased_input", true);
  return style;
}

Error not_offered(const std::string& what) {
  return {err::kConfigNotOffered, fmt::format("config.json: {} is not supported", what)};
}

}  // namespace

bool has_position(const ModelConfig& c, const char* kind) {
  const std::vector<std::string> kinds = position_kinds(c);
  return std::find(kinds.begin(), kinds.end(), kind) != kinds.end();
}

EncoderStyle deberta_names() {
  return {.decoder = "cls.predictions.decoder.weight",
          .keys = {.classifier_dropout = "cls_dropout"},
          .usual_types = 0,
          .least_types = 0,
          .norm_eps = 1e-7,
          .prefix = "deberta."};
}

Status read_deberta_config(ModelConfig& c, const DebertaStyle& style) {
  HONE_TRY(read_encoder_config(c, deberta_names()));
  HONE_TRY(check_activation(c, "pooler_hidden_act", "gelu"));
  for (const std::string& kind : position_kinds(c))
    if (kind != "c2p" && kind != "p2c")
      return not_offered(fmt::format("pos_att_type '{}'", kind)).todo("c2p and p2c work");
  if (c.flag("talking_head", false)) return not_offered("talking_head");
  for (const char* key : {"attention_head_size", "pooler_hidden_size"})
    if (const int64_t usual = *key == 'a' ? c.head_dim : c.hidden;
        HONE_TRY(c.integer(key, usual)) != usual)
      return not_offered(fmt::format("{} other than {}", key, usual));
  const Span s = span_of(c, style);
  HONE_TRY(check_range("the number of relative positions", s.span, 1, kLargestSize));
  HONE_TRY(check_range("max_relative_positions", s.most, std::max<int64_t>(1, s.buckets / 2 + 2),
                       kLargestSize));
  if (s.buckets == 1 || s.buckets == 2) return not_offered("position_buckets below 3");
  if (const int64_t k = convolution(c); k > 0) {
    if (k % 2 == 0 || k > 1024) return not_offered(fmt::format("conv_kernel_size {}", k));
    if (c.real("conv_groups", 1) != 1) return not_offered("conv_groups other than 1");
    HONE_TRY(check_activation(c, "conv_act", "tanh"));
  }
  return Ok{};
}

namespace {

// Words, positions and types as the config asks, a projection where their width differs, norm and
// dropout, [T,C].
ValueId deberta_embeddings(ModelGraph& g, const EncoderStyle& style) {
  const ModelConfig& c = g.config;
  const std::string at = encoder_prefix(c, style) + "embeddings.";
  Builder::Scope s(g.b, "embeddings");
  ValueId x = embedded_tokens(g, style);  // [T,E]
  if (embedding_width(c) != c.hidden) x = g.linear(at + "embed_proj", x, c.hidden, {.bias = false});
  return g.dropout(encoder_norm(g, at + "LayerNorm", x, style), c.real("hidden_dropout_prob", 0.1));
}

// The rows of relative positions [2 span, C], after their norm, and the row of each distance, i32[2
// longest - 1].
struct Table {
  ValueId rows = kNoValue, row_of = kNoValue;
};

Table table_of(ModelGraph& g, const DebertaStyle& how, const EncoderStyle& style) {
  if (!relative(g.config)) return {};
  Builder& b = g.b;
  const ModelConfig& c = g.config;
  const Span span = span_of(c, how);
  const std::string at = encoder_prefix(c, style) + "encoder.";
  Builder::Scope s(b, "relative_positions");
  Table t;
  t.rows = g.table(at + "rel_embeddings.weight", 2 * span.span, c.hidden);
  if (how.table_norm && has_word(c, "norm_rel_ebd", "layer_norm"))
    t.rows = encoder_norm(g, at + "LayerNorm", t.rows, style);
  const int64_t most = row_reach(span), reach = g.longest(), count = 2 * reach - 1;
  const ValueId known = g.constant({"relative_rows", {2 * most + 1}, [span, most] {
                                      std::vector<float> rows;
                                      for (int64_t d = -most; d <= most; ++d)
                                        rows.push_back(static_cast<float>(row_at(span, d)));
                                      return rows;
                                    }});
  const auto whole = [&](int64_t x) {
    return ops::constant(b, static_cast<double>(x), {DType::i32, {}});
  };
  ValueId d = ops::add(b, ops::iota(b, {DType::i32, {count}}, 0), whole(most + 1 - reach));
  d = ops::minimum(b, ops::maximum(b, d, whole(0)), whole(2 * most));
  t.row_of = ops::cast(b, ops::gather_rows(b, known, d), DType::i32);
  return t;
}

ValueId attend(ModelGraph& g, const DebertaStyle& how, const Table& table, int64_t layer,
               const std::string& at, ValueId x) {
  const ModelConfig& c = g.config;
  ValueId rows = table.rows;
  if (rows != kNoValue) {
    Builder::Scope s(g.b, "relative_positions");
    rows = g.dropout_of_table(rows, c.real("hidden_dropout_prob", 0.1));
  }
  const DebertaParts parts = how.parts(g, at + "attention.self.", x, rows);
  const int products = 1 + has_position(c, "c2p") + has_position(c, "p2c");
  const double scale = 1 / std::sqrt(static_cast<double>(c.head_dim * products));
  const double drop = attention_dropout_of(c);
  if (rows == kNoValue)
    return g.self_attention(layer, parts.q, parts.k, parts.v, scale, drop, 0, false);
  const bool random = g.mode == ModelGraph::Mode::train && drop > 0;
  return ops::disentangled_attention(
             g.b,
             {.q = parts.q,
              .k = parts.k,
              .v = parts.v,
              .position_keys = parts.position_keys,
              .position_queries = parts.position_queries,
              .row_of = table.row_of,
              .cu = g.cu_seqlens,
              .rng = g.rng,
              .sample_ids = g.sample_ids},
             {.heads = c.heads, .scale = scale, .dropout = random ? drop : 0, .key = g.b.scope()})
      .out;
}

// The rows of x [T,C] `places` later in their sequences; zeros beyond their ends.
ValueId neighbours(ModelGraph& g, ValueId x, int64_t places) {
  if (places == 0) return x;
  Builder& b = g.b;
  const int64_t tokens = b.type(g.positions).shape[0];
  const auto whole = [&](int64_t v) {
    return ops::constant(b, static_cast<double>(v), {DType::i32, {}});
  };
  ValueId there = ops::add(b, ops::iota(b, {DType::i32, {tokens}}, 0), whole(places));
  const ValueId clamped = ops::minimum(b, ops::maximum(b, there, whole(0)), whole(tokens - 1));
  // A neighbour of another sequence, or of none, has another position.
  const ValueId wanted = ops::add(b, g.positions, whole(places));
  ValueId same = ops::compare(b, ops::gather_rows(b, g.positions, clamped), wanted, "eq");
  same = ops::minimum(b, same, ops::compare(b, there, clamped, "eq"));
  return ops::gather_rows(
      b, x, ops::select(b, same, there, ops::constant(b, -1, {DType::i32, {tokens}})));
}

// Adds a convolution over the tokens of x, the input of the first layer, to its output [T,C].
ValueId convolved(ModelGraph& g, const EncoderStyle& style, ValueId x, ValueId out) {
  Builder& b = g.b;
  const ModelConfig& c = g.config;
  const int64_t k = convolution(c), C = c.hidden;
  const std::string at = encoder_prefix(c, style) + "encoder.conv.";
  Builder::Scope s(b, "conv");
  const ValueId w = g.weight({at + "conv.weight", {C, C, k}, ParamSpec::Init::normal, g.init_std});
  const ValueId bias = g.zeros(at + "conv.bias", C);
  Values places;
  for (int64_t i = 0; i < k; ++i) places.push_back(neighbours(g, x, i - k / 2));
  const ValueId by_place = ops::reshape(b, ops::transpose(b, w, {0, 2, 1}), {C, k * C});
  ValueId y = ops::linear(b, ops::concat(b, places, 1), by_place, {.bias = bias, .trans_w = true});
  y = activate(b, g.dropout(y, c.real("hidden_dropout_prob", 0.1)), c.text("conv_act", "tanh"));
  return encoder_norm(g, at + "LayerNorm", ops::add(b, y, out), style);
}

}  // namespace

ValueId deberta_body(ModelGraph& g, const DebertaStyle& how) {
  EncoderStyle style = style_of(g.config);
  const ValueId x = deberta_embeddings(g, style);
  const Table table = table_of(g, how, style);
  style.attend = [&g, &how, table](int64_t layer, const std::string& at, ValueId y) {
    return attend(g, how, table, layer, at, y);
  };
  if (convolution(g.config) > 0)
    style.after_layer = [&g, &style](int64_t layer, ValueId in, ValueId out) {
      return layer == 0 ? convolved(g, style, in, out) : out;
    };
  return encoder_layers(g, style, x);
}

HeadLayer deberta_head(ModelGraph& g, ValueId x) {
  const ModelConfig& c = g.config;
  const EncoderStyle style = style_of(c);
  g.of_head = true;
  if (c.head == Head::masked_lm && c.flag("legacy", true)) {
    const std::string at = "cls.predictions.transform.";
    const ValueId bias =
        encoder_decoder_bias(g, "cls.predictions.bias", "cls.predictions.decoder.bias");
    x = encoder_transform(g, at + "dense", at + "LayerNorm", x, hidden_act_of(c), style);
    return {x, encoder_decoder_matrix(g, style), bias};
  }
  if (c.head == Head::masked_lm) {  // the head of the pre-training, over the words
    const std::string at = "lm_predictions.lm_head.";
    x = encoder_transform(g, at + "dense", at + "LayerNorm", x, hidden_act_of(c), style);
    const ValueId words = encoder_decoder_matrix(g, style);
    return {x, words, g.zeros(at + "bias", c.vocab)};
  }
  if (c.head == Head::token_classification)
    return encoder_classifier(g, "classifier", g.dropout(x, c.real("hidden_dropout_prob", 0.1)));
  {
    Builder::Scope s(g.b, "pooler");
    x = g.dropout_of_sequences(x, c.real("pooler_dropout", 0));  // [S,C]
    x = g.linear("pooler.dense", x, c.hidden, {.rows = LinearLayer::Rows::sequences});
    x = activate(g.b, x, c.text("pooler_hidden_act", "gelu"));
  }
  return encoder_classifier(g, "classifier",
                            g.dropout_of_sequences(x, classifier_dropout_of(c, style)));
}

}  // namespace hone
