#include "learn/models/encoder.h"

#include "learn/models/activations.h"
#include "learn/models/errors.h"

namespace hone {
namespace {

constexpr const char* kHiddenAct = "gelu";

double hidden_dropout(const ModelConfig& c) { return c.real("hidden_dropout_prob", 0.1); }

int64_t token_types(const ModelConfig& c) { return c.integer("type_vocab_size", 2).value(); }

}  // namespace

std::string hidden_act_of(const ModelConfig& c) { return c.text("hidden_act", kHiddenAct); }

double classifier_dropout_of(const ModelConfig& c) {
  return c.real("classifier_dropout", hidden_dropout(c));
}

Status read_encoder_config(ModelConfig& c) {
  c.vocab = HONE_TRY(c.integer("vocab_size"));
  c.hidden = HONE_TRY(c.integer("hidden_size"));
  c.layers = HONE_TRY(c.integer("num_hidden_layers"));
  c.heads = c.kv_heads = HONE_TRY(c.integer("num_attention_heads"));
  c.max_positions = HONE_TRY(c.integer("max_position_embeddings", 512));
  HONE_TRY(c.integer("intermediate_size"));
  c.tied = c.flag("tie_word_embeddings", true);
  if (c.heads < 1 || c.hidden % c.heads != 0)
    return Error(err::kBadConfig, fmt::format("config.json: hidden_size {} is not a multiple of "
                                              "num_attention_heads {}",
                                              c.hidden, c.heads));
  c.head_dim = c.hidden / c.heads;
  if (int64_t n = HONE_TRY(c.integer("type_vocab_size", 2)); n < 1 || n > (1 << 20))
    return Error(err::kBadConfig,
                 fmt::format("config.json: 'type_vocab_size' is {}, which is out of range", n));
  const auto pad = c.config.find("pad_token_id");
  if (pad == c.config.end() || !pad->is_null())
    c.padding_token = HONE_TRY(c.integer("pad_token_id", c.family == "roberta" ? 1 : 0));
  if (c.padding_token >= c.vocab)
    return Error(err::kBadConfig,
                 fmt::format("config.json: pad_token_id {} is outside the vocabulary of {}",
                             c.padding_token, c.vocab));
  HONE_TRY(check_activation(c, "hidden_act", kHiddenAct));
  if (const std::string kind = c.text("position_embedding_type", "absolute"); kind != "absolute")
    return Error(err::kConfigNotOffered,
                 fmt::format("config.json: position_embedding_type '{}' is not supported", kind))
        .todo("absolute works");
  for (const char* key : {"is_decoder", "add_cross_attention"})
    if (c.flag(key, false))
      return Error(err::kConfigNotOffered, fmt::format("config.json: {} is not supported", key))
          .todo("models of this family are encoders here: their tokens see both sides");
  return Ok{};
}

std::string encoder_prefix(const ModelConfig& c) {
  return c.head == Head::none ? "" : c.family + ".";
}

namespace {

ValueId encoder_words(ModelGraph& g, const EncoderStyle& style) {
  const ModelConfig& c = g.config;
  TableOptions o{.zero_row = c.padding_token};
  if (c.tied) o.also = {style.decoder};
  return g.table(encoder_prefix(c) + "embeddings.word_embeddings.weight", c.vocab, c.hidden, o);
}

}  // namespace

ValueId encoder_decoder_matrix(ModelGraph& g, const EncoderStyle& style) {
  if (g.config.tied) return encoder_words(g, style);
  return g.matrix(style.decoder, g.config.vocab, g.config.hidden);
}

ValueId encoder_decoder_bias(ModelGraph& g, const char* tied_name, const char* own_name) {
  const bool tied = g.config.tied;
  return g.zeros(tied ? tied_name : own_name, g.config.vocab, {tied ? own_name : tied_name});
}

HeadLayer encoder_classifier(ModelGraph& g, const std::string& at, ValueId x) {
  const ModelConfig& c = g.config;
  const ValueId weight = g.matrix(at + ".weight", c.labels, c.hidden);
  return {x, weight, g.zeros(at + ".bias", c.labels)};
}

ValueId encoder_norm(ModelGraph& g, const std::string& at, ValueId x) {
  return g.layer_norm(at, x, g.config.real("layer_norm_eps", 1e-12),
                      {{at + ".gamma"}, {at + ".beta"}});
}

ValueId encoder_body(ModelGraph& g, const EncoderStyle& style) {
  Builder& b = g.b;
  const ModelConfig& c = g.config;
  const int64_t C = c.hidden, F = c.integer("intermediate_size").value();
  const std::string body = encoder_prefix(c), act = hidden_act_of(c);
  const double drop = hidden_dropout(c),
               drop_attention = c.real("attention_probs_dropout_prob", 0.1);
  const double scale = 1 / std::sqrt(static_cast<double>(c.head_dim));
  const int64_t first = style.first_position;

  ValueId x;  // [T,C]
  {
    Builder::Scope s(b, "embeddings");
    const std::string at = body + "embeddings.";
    const ValueId word_rows = encoder_words(g, style);
    const ValueId position_rows =
        g.table(at + "position_embeddings.weight",
                c.integer("max_position_embeddings", 512).value(), C, {.zero_row = first - 1});
    const ValueId type_rows = g.table(at + "token_type_embeddings.weight", token_types(c), C);
    ValueId types = g.token_types;  // i32[T]
    if (types == kNoValue) types = ops::constant(b, 0, b.type(g.ids));
    ValueId places = g.positions;  // i32[T]
    if (first != 0)
      places = ops::add(b, places, ops::constant(b, static_cast<double>(first), {DType::i32, {}}));
    ValueId tokens = g.embed(word_rows);
    ValueId kinds = ops::embedding(b, type_rows, types);
    Attrs attrs;
    if (first != 0 && g.mode == ModelGraph::Mode::train) attrs.set("padding_row", first - 1);
    ValueId where = b.emit1("embedding", {position_rows, places}, attrs);
    x = ops::add(b, ops::add(b, tokens, kinds), where);
    x = g.dropout(encoder_norm(g, at + "LayerNorm", x), drop);
  }
  const bool sequences = c.head == Head::sequence_classification;
  for (int64_t i = 0; i < c.layers; ++i) {
    const std::string h = fmt::format("{}encoder.layer.{}.", body, i);
    const bool few = sequences && i + 1 == c.layers;  // the head looks at the first tokens alone
    const LinearLayer layer{.rows = few ? LinearLayer::Rows::sequences : LinearLayer::Rows::tokens};
    const auto drop_onto = [&](ValueId y, ValueId residual) {
      return few ? ops::add(b, g.dropout_of_sequences(y, drop), residual)
                 : g.dropout(y, drop, residual);
    };
    Builder::Scope block(b, fmt::format("layer.{}", i));
    {
      Builder::Scope s(b, "attention");
      ValueId q = g.linear(h + "attention.self.query", x, C);  // [T,C]
      ValueId k = g.linear(h + "attention.self.key", x, C);
      ValueId v = g.linear(h + "attention.self.value", x, C);
      ValueId a = g.self_attention(i, q, k, v, scale, drop_attention, 0, false);
      if (few) {
        a = g.first_tokens(a);  // [S,C]
        x = g.first_tokens(x);
      }
      ValueId y = drop_onto(g.linear(h + "attention.output.dense", a, C, layer), x);
      x = encoder_norm(g, h + "attention.output.LayerNorm", y);
    }
    {
      Builder::Scope s(b, "mlp");
      ValueId up = activate(b, g.linear(h + "intermediate.dense", x, F, layer), act);  // [T,F]
      ValueId y = drop_onto(g.linear(h + "output.dense", up, C, layer), x);
      x = encoder_norm(g, h + "output.LayerNorm", y);
    }
  }
  return x;
}

Family encoder_family(Family f) {
  f.body_prefix = f.name + ".";
  f.dropouts = {"hidden_dropout_prob", "attention_probs_dropout_prob", "classifier_dropout"};
  f.unread = {"embeddings.position_ids"};
  return f;
}

}  // namespace hone
