#include "learn/models/encoder.h"

#include "learn/models/activations.h"
#include "learn/models/errors.h"

namespace hone {
namespace {

double hidden_dropout(const ModelConfig& c, const EncoderStyle& style) {
  return c.real(style.keys.dropout, style.usual_dropout);
}

int64_t token_types(const ModelConfig& c, const EncoderStyle& style) {
  return c.integer("type_vocab_size", style.usual_types).value();
}

}  // namespace

std::string hidden_act_of(const ModelConfig& c, const EncoderStyle& style) {
  return c.text(style.keys.act, style.usual_act);
}

double classifier_dropout_of(const ModelConfig& c, const EncoderStyle& style) {
  return c.real(style.keys.classifier_dropout, hidden_dropout(c, style));
}

double attention_dropout_of(const ModelConfig& c, const EncoderStyle& style) {
  return c.real(style.keys.attention_dropout, style.usual_dropout);
}

int64_t embedding_width(const ModelConfig& c) {
  return c.integer("embedding_size", c.hidden).value();
}

Status read_encoder_config(ModelConfig& c, const EncoderStyle& style) {
  const EncoderKeys& keys = style.keys;
  c.vocab = HONE_TRY(c.integer("vocab_size"));
  c.hidden = HONE_TRY(c.integer(keys.hidden));
  c.layers = HONE_TRY(c.integer(keys.layers));
  c.heads = c.kv_heads = HONE_TRY(c.integer(keys.heads));
  c.max_positions = HONE_TRY(c.integer(keys.positions, 512));
  HONE_TRY(c.integer(keys.inner));
  c.tied = c.flag("tie_word_embeddings", true);
  if (c.heads < 1 || c.hidden % c.heads != 0)
    return Error(err::kBadConfig, fmt::format("config.json: {} {} is not a multiple of {} {}",
                                              keys.hidden, c.hidden, keys.heads, c.heads));
  c.head_dim = c.hidden / c.heads;
  for (const char* key : {keys.inner, "embedding_size"})
    HONE_TRY(check_range(fmt::format("'{}'", key), HONE_TRY(c.integer(key, 1)), 1, kLargestSize));
  if (style.token_types)
    HONE_TRY(check_range("'type_vocab_size'",
                         HONE_TRY(c.integer("type_vocab_size", style.usual_types)),
                         style.least_types, 1 << 20));
  const auto pad = c.config.find("pad_token_id");
  if (pad == c.config.end() || !pad->is_null())
    c.padding_token = HONE_TRY(c.integer("pad_token_id", style.usual_padding));
  if (c.padding_token >= c.vocab)
    return Error(err::kBadConfig,
                 fmt::format("config.json: pad_token_id {} is outside the vocabulary of {}",
                             c.padding_token, c.vocab));
  HONE_TRY(check_activation(c, keys.act, style.usual_act));
  const std::string works = style.positions ? "absolute" : "rope";
  if (const std::string kind = c.text("position_embedding_type", works); kind != works)
    return Error(err::kConfigNotOffered,
                 fmt::format("config.json: position_embedding_type '{}' is not supported", kind))
        .todo(works + " works");
  for (const char* key : {"is_decoder", "add_cross_attention"})
    if (c.flag(key, false))
      return Error(err::kConfigNotOffered, fmt::format("config.json: {} is not supported", key))
          .todo("models of this family are encoders here: their tokens see both sides");
  return Ok{};
}

Status read_positions_after_padding(ModelConfig& c) {
  if (c.padding_token < 0)
    return Error(err::kBadConfig, "config.json: 'pad_token_id' is null, positions need one");
  const int64_t unused = c.padding_token + 1;
  if (c.max_positions <= unused)
    return Error(err::kBadConfig,
                 fmt::format("config.json: max_position_embeddings {} leaves no position after "
                             "pad_token_id {}",
                             c.max_positions, c.padding_token));
  c.max_positions -= unused;
  return Ok{};
}

void number_tokens_of_text(const ModelConfig& c, std::span<const int32_t> ids,
                           std::span<int32_t> positions) {
  int32_t before = 0;  // tokens of padding before this one, in the sequence
  for (size_t t = 0; t < positions.size(); ++t) {
    if (positions[t] == 0) before = 0;
    if (ids[t] == c.padding_token) {
      positions[t] = -1;
      ++before;
    } else {
      positions[t] -= before;
    }
  }
}

std::string encoder_prefix(const ModelConfig& c, const EncoderStyle& style) {
  if (c.head == Head::none) return "";
  return *style.prefix == 0 ? c.family + "." : std::string(style.prefix);
}

namespace {

ValueId encoder_words(ModelGraph& g, const EncoderStyle& style) {
  const ModelConfig& c = g.config;
  TableOptions o{.zero_row = c.padding_token};
  if (c.tied) o.also = {style.decoder};
  return g.table(encoder_prefix(c, style) + "embeddings.word_embeddings.weight", c.vocab,
                 embedding_width(c), o);
}

// i32[T]: the sequence of each token; -1 past the last one.
ValueId sequences_of_tokens(ModelGraph& g) {
  Builder& b = g.b;
  const int64_t tokens = b.type(g.ids).shape[0], slots = b.type(g.cu_seqlens).shape[0] - 1;
  const Type grid{DType::i32, {tokens, slots}};
  ValueId ends = ops::broadcast(b, ops::slice(b, g.cu_seqlens, 0, 1, slots + 1), grid.shape, {1});
  ValueId passed = ops::compare(b, ops::iota(b, grid, 0), ends, "ge");
  ValueId id = ops::reduce_sum(b, ops::cast(b, passed, DType::i32), {1});
  auto whole = [&](int64_t x) {
    return ops::constant(b, static_cast<double>(x), {DType::i32, {}});
  };
  return ops::select(b, ops::compare(b, id, whole(slots), "lt"), id,
                     ops::constant(b, -1, {DType::i32, {tokens}}));
}

}  // namespace

ValueId mean_of_sequences(ModelGraph& g, ValueId x) {
  Builder& b = g.b;
  const int64_t slots = b.type(g.cu_seqlens).shape[0] - 1;
  ValueId sums = ops::scatter_add_rows(b, sequences_of_tokens(g), x, slots);  // [S,C]
  ValueId lengths = ops::sub(b, ops::slice(b, g.cu_seqlens, 0, 1, slots + 1),
                             ops::slice(b, g.cu_seqlens, 0, 0, slots));
  lengths = ops::maximum(b, lengths, ops::constant(b, 1, {DType::i32, {}}));
  return ops::div(b, sums,
                  ops::broadcast(b, ops::cast(b, lengths, DType::f32), b.type(sums).shape, {0}));
}

ValueId encoder_decoder_matrix(ModelGraph& g, const EncoderStyle& style) {
  if (g.config.tied) return encoder_words(g, style);
  return g.matrix(style.decoder, g.config.vocab, embedding_width(g.config));
}

ValueId encoder_decoder_bias(ModelGraph& g, const char* tied_name, const char* own_name) {
  const bool tied = g.config.tied;
  return g.zeros(tied ? tied_name : own_name, g.config.vocab, {tied ? own_name : tied_name});
}

ValueId encoder_transform(ModelGraph& g, const std::string& dense, const std::string& norm,
                          ValueId x, const std::string& act, const EncoderStyle& style) {
  x = g.linear(dense, x, embedding_width(g.config), {.rows = LinearLayer::Rows::labels});
  return encoder_norm(g, norm, activate(g.b, x, act), style);
}

HeadLayer encoder_classifier(ModelGraph& g, const std::string& at, ValueId x) {
  const ModelConfig& c = g.config;
  const ValueId weight = g.matrix(at + ".weight", c.labels, c.hidden);
  return {x, weight, g.zeros(at + ".bias", c.labels)};
}

HeadLayer dense_classifier(ModelGraph& g, ValueId x, double drop, const std::string& act) {
  {
    Builder::Scope s(g.b, "dense");
    x = g.dropout_of_sequences(x, drop);  // [S,C]
    x = activate(
        g.b,
        g.linear("classifier.dense", x, g.config.hidden, {.rows = LinearLayer::Rows::sequences}),
        act);
  }
  Builder::Scope s(g.b, "out_proj");
  return encoder_classifier(g, "classifier.out_proj", g.dropout_of_sequences(x, drop));
}

ValueId encoder_pooled(ModelGraph& g, const std::string& at, ValueId x) {
  return ops::tanh(g.b, g.linear(at, x, g.config.hidden, {.rows = LinearLayer::Rows::sequences}));
}

HeadLayer pooled_classifier(ModelGraph& g, const std::string& at, ValueId x, double drop) {
  x = encoder_pooled(g, at, x);
  return encoder_classifier(g, "classifier", g.dropout_of_sequences(x, drop));
}

void declare_pooler(ModelGraph& g, const std::string& at, ValueId x) {
  if (!g.declaring() || g.config.head != Head::none) return;
  g.of_head = true;
  g.linear(at, x, g.config.hidden, {.rows = LinearLayer::Rows::sequences});
}

ValueId encoder_norm(ModelGraph& g, const std::string& at, ValueId x, const EncoderStyle& style) {
  return g.layer_norm(at, x, g.config.real(style.keys.norm_eps, style.norm_eps),
                      {{at + ".gamma"}, {at + ".beta"}});
}

ValueId embedded_tokens(ModelGraph& g, const EncoderStyle& style) {
  Builder& b = g.b;
  const ModelConfig& c = g.config;
  const int64_t E = embedding_width(c), first = style.first_position;
  const std::string at = encoder_prefix(c, style) + "embeddings.";
  const bool has_types = style.token_types && token_types(c, style) > 0;
  const ValueId word_rows = encoder_words(g, style);
  ValueId position_rows = kNoValue, type_rows = kNoValue, places = g.positions,
          types = g.token_types;  // i32[T]
  if (style.positions)
    position_rows =
        g.table(at + "position_embeddings.weight",
                c.integer("max_position_embeddings", 512).value(), E, {.zero_row = first - 1});
  if (has_types) {
    type_rows = g.table(at + "token_type_embeddings.weight", token_types(c, style), E);
    if (types == kNoValue) types = ops::constant(b, 0, b.type(g.ids));
  }
  if (style.positions && first != 0)
    places = ops::add(b, places, ops::constant(b, static_cast<double>(first), {DType::i32, {}}));
  ValueId x = g.embed(word_rows), kinds = kNoValue, where = kNoValue;
  if (has_types) kinds = ops::embedding(b, type_rows, types);
  if (style.positions) {
    Attrs attrs;
    if (first != 0 && g.mode == ModelGraph::Mode::train) attrs.set("padding_row", first - 1);
    where = b.emit1("embedding", {position_rows, places}, attrs);
  }
  if (has_types) x = ops::add(b, x, kinds);
  return style.positions ? ops::add(b, x, where) : x;
}

ValueId encoder_embeddings(ModelGraph& g, const EncoderStyle& style) {
  Builder::Scope s(g.b, "embeddings");
  ValueId x = embedded_tokens(g, style);  // [T,E]
  x = encoder_norm(g, encoder_prefix(g.config, style) + style.embeddings_norm, x, style);
  return g.dropout(x, hidden_dropout(g.config, style));
}

namespace {

// One layer under construction; x [T,C].
struct EncoderLayer {
  ModelGraph& g;
  const EncoderStyle& style;
  int64_t index;
  std::string at;  // "bert.encoder.layer.3."
  bool few;        // the head looks at the first tokens alone
  Builder& b = g.b;
  const ModelConfig& c = g.config;
  double drop = hidden_dropout(c, style);
  LinearLayer rows = {.bias = style.output_biases,
                      .rows = few ? LinearLayer::Rows::sequences : LinearLayer::Rows::tokens};

  ValueId drop_onto(ValueId y, double p, ValueId residual) const {
    return few ? ops::add(b, g.dropout_of_sequences(y, p), residual) : g.dropout(y, p, residual);
  }

  ValueId attended(ValueId x) const {
    if (style.attend) return style.attend(index, at, x);
    ValueId q = g.linear(at + style.names.query, x, c.hidden);  // [T,C]
    ValueId k = g.linear(at + style.names.key, x, c.hidden);
    ValueId v = g.linear(at + style.names.value, x, c.hidden);
    return g.self_attention(index, q, k, v, 1 / std::sqrt(static_cast<double>(c.head_dim)),
                            attention_dropout_of(c, style), 0, false);
  }

  ValueId run(ValueId x) const {
    {
      Builder::Scope s(b, "attention");
      ValueId a = attended(x);
      if (few) {
        a = g.first_tokens(a);  // [S,C]
        x = g.first_tokens(x);
      }
      ValueId y = drop_onto(g.linear(at + style.names.attended, a, c.hidden, rows), drop, x);
      x = encoder_norm(g, at + style.names.attended_norm, y, style);
    }
    Builder::Scope s(b, "mlp");
    ValueId up;  // [T,F]
    if (style.inner) {
      up = style.inner(at, x, rows);
    } else {
      const LinearLayer all{.rows = rows.rows};
      up = activate(b, g.linear(at + style.names.up, x, c.integer(style.keys.inner).value(), all),
                    hidden_act_of(c, style));
    }
    ValueId y = g.linear(at + style.names.down, up, c.hidden, rows);
    y = drop_onto(y, style.inner_dropout ? drop : 0, x);
    return encoder_norm(g, at + style.names.norm, y, style);
  }
};

}  // namespace

ValueId encoder_layers(ModelGraph& g, const EncoderStyle& style, ValueId x) {
  const ModelConfig& c = g.config;
  const bool sequences = reads_sequences(c.head);
  for (int64_t i = 0; i < c.layers; ++i) {
    const bool few = sequences && !style.after_layer && i + 1 == c.layers;
    const std::string at =
        encoder_prefix(c, style) +
        (style.layer_name ? style.layer_name(c, i) : fmt::format("{}{}.", style.layers, i));
    Builder::Scope block(g.b, fmt::format("layer.{}", i));
    ValueId out = EncoderLayer{g, style, i, at, few}.run(x);
    if (style.after_layer) out = style.after_layer(i, x, out);
    x = out;
  }
  return sequences && style.after_layer ? g.first_tokens(x) : x;
}

ValueId encoder_body(ModelGraph& g, const EncoderStyle& style) {
  return encoder_layers(g, style, encoder_embeddings(g, style));
}

std::vector<HeadOffer> encoder_heads() {
  return {{Head::masked_lm, "ForMaskedLM"},
          {Head::sequence_classification, "ForSequenceClassification"},
          {Head::token_classification, "ForTokenClassification"},
          {Head::none, "Model"}};
}

Family encoder_family(Family f, const EncoderStyle& style) {
  if (f.heads.empty()) f.heads = encoder_heads();
  if (style.multiple_choice) f.heads.push_back({Head::multiple_choice, "ForMultipleChoice"});
  f.body_prefix = *style.prefix == 0 ? f.name + "." : std::string(style.prefix);
  for (const char* key :
       {style.keys.dropout, style.keys.attention_dropout, style.keys.classifier_dropout})
    f.dropouts.push_back(key);
  f.unread.emplace_back("embeddings.position_ids");
  if (*style.decoder != 0) f.separate_head = style.decoder;
  return f;
}

}  // namespace hone
