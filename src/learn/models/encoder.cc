#include "learn/models/encoder.h"

#include "learn/models/activations.h"
#include "learn/models/errors.h"

namespace hone {
namespace {

constexpr const char* kHiddenAct = "gelu";

Status check_share(const ModelConfig& c, const char* key) {
  auto it = c.config.find(key);
  if (it == c.config.end() || it->is_null()) return Ok{};
  const double p = it->is_number() ? it->get<double>() : -1;
  if (!(p >= 0 && p < 1))
    return Error(
        err::kBadConfig,
        fmt::format("config.json: '{}' is {}, a share from 0 to 1 is expected", key, it->dump()));
  return Ok{};
}

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
  for (const char* key :
       {"hidden_dropout_prob", "attention_probs_dropout_prob", "classifier_dropout"})
    HONE_TRY(check_share(c, key));
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

ParamList::ParamList(const ModelConfig& c) : std(c.real("initializer_range", 0.02)) {}

void ParamList::linear(const std::string& at, int64_t in, int64_t out) {
  list.push_back({at + ".weight", {out, in}, ParamSpec::Init::normal, std, true, of_head});
  bias(at + ".bias", out);
}
void ParamList::norm(const std::string& at, int64_t channels) {
  list.push_back({at + ".weight", {channels}, ParamSpec::Init::ones, 0, false, of_head});
  bias(at + ".bias", channels);
}
void ParamList::table(const std::string& name, int64_t rows, int64_t channels, int64_t zero_row) {
  list.push_back({name, {rows, channels}, ParamSpec::Init::normal, std, true, of_head, zero_row});
}
void ParamList::bias(const std::string& name, int64_t n) {
  list.push_back({name, {n}, ParamSpec::Init::zeros, 0, false, of_head});
}

std::string encoder_prefix(const ModelConfig& c) {
  return c.head == Head::none ? "" : c.family + ".";
}

ParamList encoder_params(const ModelConfig& c, int64_t zero_row_of_positions) {
  const int64_t C = c.hidden, F = c.integer("intermediate_size").value();
  const std::string body = encoder_prefix(c), at = body + "embeddings.";
  ParamList p(c);
  p.table(at + "word_embeddings.weight", c.vocab, C, c.padding_token);
  p.table(at + "position_embeddings.weight", c.integer("max_position_embeddings", 512).value(), C,
          zero_row_of_positions);
  p.table(at + "token_type_embeddings.weight", token_types(c), C);
  p.norm(at + "LayerNorm", C);
  for (int64_t i = 0; i < c.layers; ++i) {
    const std::string h = fmt::format("{}encoder.layer.{}.", body, i);
    for (const char* which : {"query", "key", "value"})
      p.linear(h + "attention.self." + which, C, C);
    p.linear(h + "attention.output.dense", C, C);
    p.norm(h + "attention.output.LayerNorm", C);
    p.linear(h + "intermediate.dense", C, F);
    p.linear(h + "output.dense", F, C);
    p.norm(h + "output.LayerNorm", C);
  }
  return p;
}

ValueId linear_of(ModelGraph& g, const std::string& at, ValueId x) {
  return ops::linear(g.b, x, g.param(at + ".weight"),
                     {.bias = g.param(at + ".bias"), .trans_w = true});
}

ValueId norm_of(ModelGraph& g, const std::string& at, ValueId x) {
  return ops::layer_norm(g.b, x, g.param(at + ".weight"), g.param(at + ".bias"),
                         g.config.real("layer_norm_eps", 1e-12))
      .y;
}

ValueId activated_linear_of(ModelGraph& g, const std::string& at, ValueId x,
                            const std::string& hidden_act) {
  return activate(g.b, linear_of(g, at, x), hidden_act);
}

ValueId encoder_body(ModelGraph& g, int64_t offset) {
  Builder& b = g.b;
  const ModelConfig& c = g.config;
  const std::string body = encoder_prefix(c), act = hidden_act_of(c);
  const double drop = hidden_dropout(c),
               drop_attention = c.real("attention_probs_dropout_prob", 0.1);
  const double scale = 1 / std::sqrt(static_cast<double>(c.head_dim));

  ValueId x;  // [T,C]
  {
    Builder::Scope s(b, "embeddings");
    const std::string at = body + "embeddings.";
    ValueId types = g.token_types;  // i32[T]
    if (types == kNoValue) types = ops::constant(b, 0, b.type(g.ids));
    ValueId places = g.positions;  // i32[T]
    if (offset != 0)
      places = ops::add(b, places, ops::constant(b, static_cast<double>(offset), {DType::i32, {}}));
    ValueId tokens = g.embed(g.param(at + "word_embeddings.weight"));
    ValueId kinds = ops::embedding(b, g.param(at + "token_type_embeddings.weight"), types);
    Attrs attrs;
    if (offset != 0 && g.mode == ModelGraph::Mode::train) attrs.set("padding_row", offset - 1);
    ValueId where =
        b.emit1("embedding", {g.param(at + "position_embeddings.weight"), places}, attrs);
    x = ops::add(b, ops::add(b, tokens, kinds), where);
    x = g.dropout(norm_of(g, at + "LayerNorm", x), drop);
  }
  const bool sequences = c.head == Head::sequence_classification;
  for (int64_t i = 0; i < c.layers; ++i) {
    const std::string h = fmt::format("{}encoder.layer.{}.", body, i);
    const bool few = sequences && i + 1 == c.layers;  // the head looks at the first tokens alone
    const auto drop_onto = [&](ValueId y, ValueId residual) {
      return few ? ops::add(b, g.dropout_of_sequences(y, drop), residual)
                 : g.dropout(y, drop, residual);
    };
    Builder::Scope block(b, fmt::format("layer.{}", i));
    {
      Builder::Scope s(b, "attention");
      ValueId q = linear_of(g, h + "attention.self.query", x);  // [T,C]
      ValueId k = linear_of(g, h + "attention.self.key", x);
      ValueId v = linear_of(g, h + "attention.self.value", x);
      ValueId a = g.self_attention(i, q, k, v, scale, drop_attention, 0, false);
      if (few) {
        a = g.first_tokens(a);  // [S,C]
        x = g.first_tokens(x);
      }
      ValueId y = drop_onto(linear_of(g, h + "attention.output.dense", a), x);
      x = norm_of(g, h + "attention.output.LayerNorm", y);
    }
    {
      Builder::Scope s(b, "mlp");
      ValueId up = activated_linear_of(g, h + "intermediate.dense", x, act);  // [T,F]
      ValueId y = drop_onto(linear_of(g, h + "output.dense", up), x);
      x = norm_of(g, h + "output.LayerNorm", y);
    }
  }
  return x;
}

std::vector<std::string> encoder_other_names(
    const ModelConfig& c, const std::string& name,
    const std::vector<std::pair<std::string, std::string>>& same) {
  std::vector<std::string> names{name};
  const std::string prefix = c.family + ".";
  auto add = [&](const std::string& other) {
    if (std::find(names.begin(), names.end(), other) == names.end()) names.push_back(other);
  };
  for (const auto& [a, b] : same) {
    if (name == a) add(b);
    if (name == b) add(a);
  }
  if (name.starts_with(prefix)) add(name.substr(prefix.size()));
  if (c.head == Head::none) add(prefix + name);
  for (size_t i = 0, n = names.size(); i < n; ++i)
    for (auto [now, then] :
         {std::pair{"LayerNorm.weight", "LayerNorm.gamma"}, {"LayerNorm.bias", "LayerNorm.beta"}})
      if (names[i].ends_with(now))
        add(names[i].substr(0, names[i].size() - std::strlen(now)) + then);
  names.erase(names.begin());
  return names;
}

}  // namespace hone
