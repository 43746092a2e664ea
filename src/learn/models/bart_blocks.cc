#include "learn/models/bart_blocks.h"

#include "learn/models/activations.h"
#include "learn/models/errors.h"

namespace hone {
namespace {

using Positions = BartStyle::Positions;
constexpr const char* kBartActivation = "gelu";
constexpr int64_t kLearnedOffset = 2;

std::string activation_of(const ModelConfig& c) {
  return c.text("activation_function", kBartActivation);
}

std::string side_name(bool encoder) { return encoder ? "encoder" : "decoder"; }
int64_t side_integer(const ModelConfig& c, bool encoder, const char* key, int64_t otherwise) {
  return c.integer(fmt::format("{}_{}", side_name(encoder), key), otherwise).value();
}
int64_t bart_layers(const ModelConfig& c, bool encoder) {
  return side_integer(c, encoder, "layers", 12);
}
int64_t bart_inner(const ModelConfig& c, bool encoder) {
  return side_integer(c, encoder, "ffn_dim", 4096);
}

// One stack under construction.
struct BartStack {
  ModelGraph& g;
  const BartStyle& style;
  bool encoder;
  Builder& b = g.b;
  const ModelConfig& c = g.config;
  double dropout = c.real("dropout", 0.1), attention_dropout = c.real("attention_dropout", 0),
         activation_dropout = c.real("activation_dropout", 0);
  std::string act = activation_of(c);
  double scale =
      1 / std::sqrt(static_cast<double>(c.hidden / (encoder ? c.encoder_heads : c.heads)));

  ValueId norm(const std::string& at, ValueId x) const { return g.layer_norm(at, x, 1e-5); }
  ValueId linear(const std::string& at, ValueId x) const { return g.linear(at, x, c.hidden); }

  ValueId places(const std::string& at) const {
    const int64_t P = c.max_positions, C = c.hidden;
    auto sines = [P, C] { return sinusoids(P, C); };
    if (style.positions == Positions::made)
      return ops::embedding(b, g.constant({"sinusoids", {P, C}, sines}), g.positions);
    const std::string table = at + "embed_positions.weight";
    if (style.positions == Positions::kept) {
      ParamSpec kept{table, {P, C}, ParamSpec::Init::sinusoids, 0, false};
      kept.trained = false;
      kept.looked_up = true;
      return ops::embedding(b, g.weight(kept), g.positions);
    }
    ValueId rows = ops::add(
        b, g.positions, ops::constant(b, static_cast<double>(kLearnedOffset), {DType::i32, {}}));
    return ops::embedding(b, g.table(table, P + kLearnedOffset, C), rows);
  }

  ValueId embed(const std::string& at) const {
    Builder::Scope s(b, "embed");
    ValueId x = g.embed(g.param(encoder ? style.source_embedding : style.target_embedding));
    if (c.flag("scale_embedding", false))
      x = ops::mul(b, x,
                   ops::constant(b, std::sqrt(static_cast<double>(c.hidden)), {DType::f32, {}}));
    x = ops::add(b, x, places(at));
    if (style.embedding_norm) x = norm(at + "layernorm_embedding", x);
    return g.dropout(x, dropout);
  }

  // x + f(x) with the norm before f, or after the sum.
  template <class F>
  ValueId sublayer(const std::string& norm_at, ValueId x, F f) const {
    if (g.declaring()) {  // a checkpoint has the norm after the sublayer, wherever it is used
      f(x);
      norm(norm_at, x);
    }
    ValueId y = f(style.pre_norm ? norm(norm_at, x) : x);
    x = g.dropout(y, dropout, x);
    return style.pre_norm ? x : norm(norm_at, x);
  }

  ValueId block(int64_t i, const std::string& at, ValueId x) const {
    {
      Builder::Scope s(b, "self_attn");
      x = sublayer(at + "self_attn_layer_norm", x, [&](ValueId y) {
        const std::string h = at + "self_attn.";
        // Values are named one by one: the order in which C++ evaluates arguments is not fixed.
        ValueId q = linear(h + "q_proj", y);
        ValueId k = linear(h + "k_proj", y);
        ValueId v = linear(h + "v_proj", y);
        return linear(h + "out_proj",
                      g.self_attention(i, q, k, v, scale, attention_dropout, 0, !encoder));
      });
    }
    if (!encoder) {
      Builder::Scope s(b, "encoder_attn");
      x = sublayer(at + "encoder_attn_layer_norm", x, [&](ValueId y) {
        ValueId q = linear(at + "encoder_attn.q_proj", y);
        return linear(at + "encoder_attn.out_proj",
                      g.cross_attention(i, q, scale, attention_dropout, bart_cross_keys));
      });
    }
    Builder::Scope s(b, "mlp");
    return sublayer(at + "final_layer_norm", x, [&](ValueId y) {
      ValueId up;  // [T,F]
      {
        Builder::Scope inner(b, "act");
        up = g.dropout(activate(b, g.linear(at + "fc1", y, bart_inner(c, encoder)), act),
                       activation_dropout);
      }
      return linear(at + "fc2", up);
    });
  }

  ValueId run() const {
    const std::string side = side_name(encoder), at = "model." + side + ".";
    Builder::Scope scope(b, side);
    g.init_std = c.real("init_std", 0.02);
    if (g.declaring() && encoder) style.declare_tables(g, style);
    ValueId x = embed(at);
    for (int64_t i = 0; i < bart_layers(c, encoder); ++i) {
      Builder::Scope layer(b, fmt::format("layers.{}", i));
      x = block(i, fmt::format("{}layers.{}.", at, i), x);
    }
    return style.pre_norm ? norm(at + "layer_norm", x) : x;
  }
};

}  // namespace

Status read_bart_config(ModelConfig& c) {
  c.vocab = c.source_vocab = HONE_TRY(c.integer("vocab_size", 50265));
  c.hidden = HONE_TRY(c.integer("d_model", 1024));
  c.layers = HONE_TRY(c.integer("decoder_layers", 12));
  c.heads = c.kv_heads = HONE_TRY(c.integer("decoder_attention_heads", 16));
  c.encoder_heads = HONE_TRY(c.integer("encoder_attention_heads", 16));
  c.max_positions = HONE_TRY(c.integer("max_position_embeddings", 1024));
  c.tied = c.flag("tie_word_embeddings", true);
  for (const char* key : {"vocab_size", "encoder_ffn_dim", "decoder_ffn_dim"})
    HONE_TRY(check_range(fmt::format("'{}'", key), HONE_TRY(c.integer(key, 1)), 1, kLargestSize));
  HONE_TRY(check_range("'encoder_layers'", bart_layers(c, true), 1, kMostLayers));
  for (auto [key, heads] : {std::pair{"encoder_attention_heads", c.encoder_heads},
                            {"decoder_attention_heads", c.heads}})
    if (heads < 1 || c.hidden % heads != 0)
      return Error(
          err::kBadConfig,
          fmt::format("config.json: d_model {} is not a multiple of {} {}", c.hidden, key, heads));
  c.head_dim = c.hidden / c.heads;
  HONE_TRY(check_activation(c, "activation_function", kBartActivation));
  if (!c.flag("is_encoder_decoder", true))
    return Error(err::kConfigNotOffered,
                 "config.json: one half of an encoder-decoder is not supported")
        .todo("give a folder of the whole model: is_encoder_decoder true");
  for (const char* key : {"encoder_layerdrop", "decoder_layerdrop"})
    if (c.real(key, 0) != 0)
      return Error(err::kConfigNotOffered,
                   fmt::format("config.json: {} {} is not supported", key, c.real(key, 0)))
          .todo(fmt::format("set {} to 0: every layer is then part of every step", key));
  return Ok{};
}

Status read_bart_tokens(ModelConfig& c, int64_t padding, int64_t start) {
  c.padding_token = HONE_TRY(c.integer("pad_token_id", padding));
  c.decoder_start = HONE_TRY(c.integer("decoder_start_token_id", start));
  for (auto [key, token] :
       {std::pair{"pad_token_id", c.padding_token}, {"decoder_start_token_id", c.decoder_start}})
    if (token >= std::min(c.vocab, c.source_vocab))
      return Error(err::kBadConfig,
                   fmt::format("config.json: {} {} is outside the vocabulary of {}", key, token,
                               std::min(c.vocab, c.source_vocab)));
  return Ok{};
}

namespace {

// Names of the other roles of a tied weight.
std::vector<std::string> roles_of(const BartStyle& style, const std::string& name) {
  std::vector<std::string> names;
  for (auto [role, other] :
       {std::pair{&style.source_embedding, "model.encoder.embed_tokens.weight"},
        {&style.target_embedding, "model.decoder.embed_tokens.weight"},
        {&style.head, "lm_head.weight"}})
    if (*role == name && name != other) names.emplace_back(other);
  // Transformers 4 read the shared table on both sides, tied or not.
  if (name != kSharedTable && (name == style.source_embedding || name == style.target_embedding))
    names.emplace_back(kSharedTable);
  return names;
}

}  // namespace

void bart_table(ModelGraph& g, const BartStyle& style, const std::string& name, int64_t rows,
                bool trained) {
  ParamSpec spec{name, {rows, g.config.hidden}};
  spec.std = g.init_std;
  spec.zero_row = g.config.padding_token;
  spec.trained = trained;
  spec.looked_up = true;
  spec.also = roles_of(style, name);
  g.weight(std::move(spec));
}

void bart_head_matrix(ModelGraph& g, const BartStyle& style) {
  ParamSpec spec{style.head, {g.config.vocab, g.config.hidden}};
  spec.std = g.init_std;
  spec.also = roles_of(style, style.head);
  g.weight(std::move(spec));
}

ValueId bart_encoder(ModelGraph& g, const BartStyle& style) {
  return BartStack{.g = g, .style = style, .encoder = true}.run();
}
ValueId bart_decoder(ModelGraph& g, const BartStyle& style) {
  return BartStack{.g = g, .style = style, .encoder = false}.run();
}

CrossKeys bart_cross_keys(ModelGraph& g, int64_t layer) {
  const std::string at = fmt::format("model.decoder.layers.{}.encoder_attn.", layer);
  CrossKeys keys;
  keys.k = g.linear(at + "k_proj", g.encoded, g.config.hidden);
  keys.v = g.linear(at + "v_proj", g.encoded, g.config.hidden);
  return keys;
}

HeadLayer dense_classifier(ModelGraph& g, ValueId hidden, double dropout, double std) {
  const ModelConfig& c = g.config;
  g.of_head = true;
  const auto dropped = [&](const char* scope, ValueId x) {
    Builder::Scope s(g.b, scope);
    return g.dropout_of_sequences(x, dropout);
  };
  const ValueId x = dropped("dense_dropout", hidden);
  const ValueId y = ops::tanh(g.b, g.linear("classification_head.dense", x, c.hidden,
                                            {.std = std, .rows = LinearLayer::Rows::sequences}));
  const ValueId z = dropped("out_proj_dropout", y);
  const ValueId weight = g.matrix("classification_head.out_proj.weight", c.labels, c.hidden, std);
  return {z, weight, g.zeros("classification_head.out_proj.bias", c.labels)};
}

HeadLayer bart_head(ModelGraph& g, ValueId hidden, const BartStyle& style) {
  if (g.config.head == Head::sequence_classification)
    return dense_classifier(g, hidden, g.config.real("classifier_dropout", 0), g.init_std);
  const int64_t V = g.config.vocab;
  ParamSpec bias{"final_logits_bias", {1, V}, ParamSpec::Init::zeros, 0, false};
  bias.trained = false;
  return {hidden, g.param(style.head), ops::reshape(g.b, g.weight(std::move(bias)), {V})};
}

}  // namespace hone
