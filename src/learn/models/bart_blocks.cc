#include "learn/models/bart_blocks.h"

#include "learn/models/activations.h"
#include "learn/models/errors.h"

namespace hone {
namespace {

using Positions = BartStyle::Positions;
constexpr const char* kActivation = "gelu";
constexpr int64_t kLearnedOffset = 2;
constexpr const char* kSinusoids = "sinusoids";  // the table of Positions::made

std::string activation_of(const ModelConfig& c) {
  return c.text("activation_function", kActivation);
}

std::string side_name(bool encoder) { return encoder ? "encoder" : "decoder"; }
int64_t side_integer(const ModelConfig& c, bool encoder, const char* key, int64_t otherwise) {
  return c.integer(fmt::format("{}_{}", side_name(encoder), key), otherwise).value();
}
int64_t layers_of(const ModelConfig& c, bool encoder) {
  return side_integer(c, encoder, "layers", 12);
}
int64_t inner_of(const ModelConfig& c, bool encoder) {
  return side_integer(c, encoder, "ffn_dim", 4096);
}

// One stack under construction.
struct Stack {
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

  ValueId norm(const std::string& at, ValueId x) const {
    return ops::layer_norm(b, x, g.param(at + ".weight"), g.param(at + ".bias"), 1e-5).y;
  }
  ValueId linear(const std::string& at, ValueId x) const {
    return ops::linear(b, x, g.param(at + ".weight"),
                       {.bias = g.param(at + ".bias"), .trans_w = true});
  }

  ValueId places(const std::string& at) const {
    if (style.positions == Positions::made)
      return ops::embedding(b, g.constant(kSinusoids), g.positions);
    ValueId rows = g.positions;
    if (style.positions == Positions::learned)
      rows = ops::add(b, rows,
                      ops::constant(b, static_cast<double>(kLearnedOffset), {DType::i32, {}}));
    return ops::embedding(b, g.param(at + "embed_positions.weight"), rows);
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
                      g.cross_attention(i, q, scale, attention_dropout));
      });
    }
    Builder::Scope s(b, "mlp");
    return sublayer(at + "final_layer_norm", x, [&](ValueId y) {
      ValueId up;  // [T,F]
      {
        Builder::Scope inner(b, "act");
        up = g.dropout(activate(b, linear(at + "fc1", y), act), activation_dropout);
      }
      return linear(at + "fc2", up);
    });
  }

  ValueId run() const {
    const std::string side = side_name(encoder), at = "model." + side + ".";
    Builder::Scope scope(b, side);
    ValueId x = embed(at);
    for (int64_t i = 0; i < layers_of(c, encoder); ++i) {
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
  constexpr int64_t kLargestSize = int64_t{1} << 24;
  for (const char* key : {"vocab_size", "encoder_layers", "encoder_ffn_dim", "decoder_ffn_dim"})
    if (const int64_t v = HONE_TRY(c.integer(key, 1)); v < 1 || v > kLargestSize)
      return Error(err::kBadConfig,
                   fmt::format("config.json: '{}' is {}, which is out of range", key, v));
  for (auto [key, heads] : {std::pair{"encoder_attention_heads", c.encoder_heads},
                            {"decoder_attention_heads", c.heads}})
    if (heads < 1 || c.hidden % heads != 0)
      return Error(
          err::kBadConfig,
          fmt::format("config.json: d_model {} is not a multiple of {} {}", c.hidden, key, heads));
  c.head_dim = c.hidden / c.heads;
  HONE_TRY(check_activation(c, "activation_function", kActivation));
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

ParamSpec bart_embedding(const ModelConfig& c, const std::string& name, int64_t rows) {
  ParamSpec p{name, {rows, c.hidden}};
  p.std = c.real("init_std", 0.02);
  p.zero_row = c.padding_token;
  return p;
}

ParamSpec bart_head_weight(const ModelConfig& c, const std::string& name) {
  ParamSpec p{name, {c.vocab, c.hidden}};
  p.std = c.real("init_std", 0.02);
  return p;
}

void add_bart_params(const ModelConfig& c, const BartStyle& style, std::vector<ParamSpec>& list) {
  using Init = ParamSpec::Init;
  const int64_t C = c.hidden;
  const double std = c.real("init_std", 0.02);
  auto norm = [&](const std::string& at) {
    list.push_back({at + ".weight", {C}, Init::ones, 0, false});
    list.push_back({at + ".bias", {C}, Init::zeros, 0, false});
  };
  auto linear = [&](const std::string& at, int64_t out, int64_t in) {
    list.push_back({at + ".weight", {out, in}, Init::normal, std});
    list.push_back({at + ".bias", {out}, Init::zeros, 0, false});
  };
  auto attention = [&](const std::string& at) {
    for (const char* part : {".q_proj", ".k_proj", ".v_proj", ".out_proj"}) linear(at + part, C, C);
    norm(at + "_layer_norm");
  };
  for (bool encoder : {true, false}) {
    const std::string at = "model." + side_name(encoder) + ".";
    const int64_t F = inner_of(c, encoder);
    const std::string table = at + "embed_positions.weight";
    if (style.positions == Positions::learned)
      list.push_back({table, {c.max_positions + kLearnedOffset, C}, Init::normal, std});
    if (style.positions == Positions::kept) {
      list.push_back({table, {c.max_positions, C}, Init::sinusoids, 0, false});
      list.back().trained = false;
    }
    if (style.embedding_norm) norm(at + "layernorm_embedding");
    for (int64_t i = 0; i < layers_of(c, encoder); ++i) {
      const std::string h = fmt::format("{}layers.{}.", at, i);
      attention(h + "self_attn");
      if (!encoder) attention(h + "encoder_attn");
      linear(h + "fc1", F, C);
      linear(h + "fc2", C, F);
      norm(h + "final_layer_norm");
    }
    if (style.pre_norm) norm(at + "layer_norm");
  }
  list.push_back({"final_logits_bias", {1, c.vocab}, Init::zeros, 0, false});
  list.back().trained = false;
}

std::vector<ConstantTable> bart_constants(const ModelConfig& c, const BartStyle& style) {
  if (style.positions != Positions::made) return {};
  return {{kSinusoids, {c.max_positions, c.hidden}, sinusoids(c.max_positions, c.hidden)}};
}

ValueId bart_encoder(ModelGraph& g, const BartStyle& style) {
  return Stack{.g = g, .style = style, .encoder = true}.run();
}
ValueId bart_decoder(ModelGraph& g, const BartStyle& style) {
  return Stack{.g = g, .style = style, .encoder = false}.run();
}

CrossKeys bart_cross_keys(ModelGraph& g, int64_t layer) {
  const std::string at = fmt::format("model.decoder.layers.{}.encoder_attn.", layer);
  auto linear = [&](const std::string& part) {
    return ops::linear(g.b, g.encoded, g.param(at + part + ".weight"),
                       {.bias = g.param(at + part + ".bias"), .trans_w = true});
  };
  CrossKeys keys;
  keys.k = linear("k_proj");
  keys.v = linear("v_proj");
  return keys;
}

HeadLayer bart_head(ModelGraph& g, ValueId hidden, const BartStyle& style) {
  return {hidden, g.param(style.head),
          ops::reshape(g.b, g.param("final_logits_bias"), {g.config.vocab})};
}

std::vector<std::string> bart_other_names(const BartStyle& style, const std::string& name) {
  constexpr const char* kShared = "model.shared.weight";
  std::vector<std::string> names{name};
  for (auto [role, other] :
       {std::pair{&style.source_embedding, "model.encoder.embed_tokens.weight"},
        {&style.target_embedding, "model.decoder.embed_tokens.weight"},
        {&style.head, "lm_head.weight"}})
    if (*role == name && name != other) names.push_back(other);
  // Before Transformers 5 both sides read the shared one, tied or not.
  if (name != kShared && (name == style.source_embedding || name == style.target_embedding))
    names.push_back(kShared);
  for (size_t i = 0, n = names.size(); i < n; ++i)
    if (names[i].starts_with("model.")) names.push_back(names[i].substr(6));
  names.erase(names.begin());
  return names;
}

}  // namespace hone
