#include "learn/models/t5_blocks.h"

#include "learn/models/activations.h"
#include "learn/models/bart_blocks.h"
#include "learn/models/errors.h"
#include "learn/models/relative_buckets.h"

namespace hone {

bool t5_is_classifier(const ModelConfig& c) { return c.head == Head::sequence_classification; }
std::string t5_name(const ModelConfig& c, const std::string& name) {
  return t5_is_classifier(c) ? kT5Body + name : name;
}

int64_t t5_layers(const ModelConfig& c, bool encoder) {
  return encoder ? c.integer("num_layers", 6).value() : c.layers;
}
int64_t t5_inner(const ModelConfig& c) { return c.integer("d_ff", 2048).value(); }
int64_t t5_buckets(const ModelConfig& c) {
  return c.integer("relative_attention_num_buckets", 32).value();
}
int64_t t5_max_distance(const ModelConfig& c) {
  return c.integer("relative_attention_max_distance", 128).value();
}

T5FeedForward t5_feed_forward(const ModelConfig& c) {
  std::string name =
      c.text("feed_forward_proj", c.text("model_type", "t5") == "t5" ? "relu" : "gated-gelu");
  T5FeedForward f;
  f.gated = name.starts_with("gated-");
  if (f.gated) name = name.substr(6);
  f.act = name == "gelu" && f.gated ? "gelu_new" : name;
  return f;
}

bool t5_scales_head(const ModelConfig& c) {
  if (c.text("model_type", "t5") == "mt5") return false;
  return c.flag("scale_decoder_outputs", c.flag("tie_word_embeddings", true));
}

namespace {

constexpr int64_t kNoLimit = kLargestSize;  // positions: only distances are embedded

// The kinds that ops::gate has not.
bool gates(const std::string& act) { return act != "tanh" && act != "linear"; }

Status check_size(const ModelConfig& c, const char* key, int64_t least, int64_t most) {
  const int64_t v = HONE_TRY(c.integer(key, least));
  if (v >= least && v <= most) return Ok{};
  return Error(err::kBadConfig,
               fmt::format("config.json: '{}' is {}, {} to {} is expected", key, v, least, most));
}

}  // namespace

Status read_t5_config(ModelConfig& c, bool encoder_alone) {
  c.vocab = c.source_vocab = HONE_TRY(c.integer("vocab_size"));
  c.hidden = HONE_TRY(c.integer("d_model"));
  HONE_TRY(check_size(c, "num_layers", 1, kMostLayers));
  c.layers = t5_layers(c, true);
  if (!encoder_alone) c.layers = HONE_TRY(c.integer("num_decoder_layers", c.layers));
  c.heads = c.kv_heads = c.encoder_heads = HONE_TRY(c.integer("num_heads"));
  c.head_dim = HONE_TRY(c.integer("d_kv", 64));
  c.max_positions = kNoLimit;
  c.tied = c.flag("tie_word_embeddings", true);
  HONE_TRY(check_size(c, "d_ff", 1, kNoLimit));
  HONE_TRY(check_size(c, "relative_attention_num_buckets", 4, 65536));
  HONE_TRY(check_size(c, "relative_attention_max_distance", 1, 65536));
  if (t5_max_distance(c) <= t5_buckets(c) / 2)
    return Error(
        err::kBadConfig,
        fmt::format("config.json: relative_attention_max_distance {} leaves no room for {} "
                    "relative_attention_num_buckets",
                    t5_max_distance(c), t5_buckets(c)));
  if (const T5FeedForward f = t5_feed_forward(c);
      !knows_activation(f.act) || (f.gated && !gates(f.act)))
    return Error(err::kConfigNotOffered,
                 fmt::format("config.json: feed_forward_proj '{}' is not supported",
                             c.text("feed_forward_proj", "")))
        .todo("relu, gelu, gelu_new, silu and swish work, and each of them as gated-...");
  if (!encoder_alone && !c.flag("is_encoder_decoder", true))
    return Error(err::kConfigNotOffered,
                 "config.json: one half of an encoder-decoder is not supported")
        .todo("give a folder of the whole model: is_encoder_decoder true");
  const int64_t padding = HONE_TRY(c.integer("pad_token_id", 0));
  c.decoder_start = HONE_TRY(c.integer("decoder_start_token_id", padding));
  if (c.decoder_start >= c.vocab)
    return Error(
        err::kBadConfig,
        fmt::format("config.json: decoder_start_token_id {} is outside the vocabulary of {}",
                    c.decoder_start, c.vocab));
  return Ok{};
}

ValueId t5_words(ModelGraph& g) {
  const ModelConfig& c = g.config;
  TableOptions o{.std = c.real("initializer_factor", 1)};
  o.also = {"encoder.embed_tokens.weight", "decoder.embed_tokens.weight"};
  for (std::string& name : o.also) name = t5_name(c, name);
  if (c.tied && !t5_is_classifier(c)) o.also.emplace_back(kT5Head);
  return g.table(t5_name(c, "shared.weight"), c.vocab, c.hidden, o);
}

namespace {

// Layers without biases, whose weights begin with a deviation of their own.
struct Layers {
  ModelGraph& g;
  double factor = g.config.real("initializer_factor", 1);

  double root(int64_t n) const { return factor / std::sqrt(static_cast<double>(n)); }
  ValueId linear(const std::string& at, ValueId x, int64_t out, double std) const {
    return g.linear(at, x, out, {.bias = false, .std = std});
  }
  ValueId norm(const std::string& at, ValueId x) const {
    return g.rms_norm(at, x, g.config.real("layer_norm_epsilon", 1e-6), factor);
  }
};

}  // namespace

CrossKeys t5_cross_keys(ModelGraph& g, int64_t layer) {
  const Layers layers{.g = g};
  const ModelConfig& c = g.config;
  const std::string at =
      t5_name(c, fmt::format("decoder.block.{}.layer.1.EncDecAttention.", layer));
  CrossKeys keys;
  keys.k = layers.linear(at + "k", g.encoded, c.heads * c.head_dim, layers.root(c.hidden));
  keys.v = layers.linear(at + "v", g.encoded, c.heads * c.head_dim, layers.root(c.hidden));
  return keys;
}

namespace {

// One stack under construction.
struct T5Stack : Layers {
  bool encoder;
  Builder& b = g.b;
  const ModelConfig& c = g.config;
  int64_t C = c.hidden, F = t5_inner(c), Q = c.heads * c.head_dim;
  double dropout = c.real("dropout_rate", 0.1);
  T5FeedForward mlp = t5_feed_forward(c);
  std::string side = encoder ? "encoder" : "decoder";
  ValueId bias = kNoValue;

  // Whether the layer has a table of its own; the others have that of the first.
  bool has_table(int64_t layer) const { return layer == 0 || c.text("model_type", "t5") == "umt5"; }
  ValueId bias_rows(int64_t layer) const {  // [buckets,H]
    // Transformers takes no decay from what has "bias" in its name.
    return g.table(fmt::format("{}.block.{}.layer.0.SelfAttention.relative_attention_bias.weight",
                               t5_name(c, side), layer),
                   t5_buckets(c), c.heads, {.std = root(C), .decay = false});
  }

  // x + f(norm(x))
  template <class F_>
  ValueId sublayer(const std::string& norm_at, ValueId x, F_ f) const {
    if (g.declaring()) {  // a checkpoint has the norm after the sublayer
      f(x);
      norm(norm_at, x);
    }
    return g.dropout(f(norm(norm_at, x)), dropout, x);
  }

  ValueId block(int64_t i, const std::string& at, ValueId x) const {
    {
      Builder::Scope s(b, "self_attention");
      x = sublayer(at + "0.layer_norm", x, [&](ValueId y) {
        const std::string h = at + "0.SelfAttention.";
        // Values are named one by one: the order in which C++ evaluates arguments is not fixed.
        ValueId q = linear(h + "q", y, Q, root(C * c.head_dim));  // [T,H*D]
        ValueId k = linear(h + "k", y, Q, root(C));
        ValueId v = linear(h + "v", y, Q, root(C));
        ValueId a = g.self_attention(i, q, k, v, 1, dropout, 0, !encoder, bias);
        a = linear(h + "o", a, C, root(Q));
        if (has_table(i)) bias_rows(i);  // where a checkpoint has them
        return a;
      });
    }
    if (!encoder) {
      Builder::Scope s(b, "cross_attention");
      x = sublayer(at + "1.layer_norm", x, [&](ValueId y) {
        ValueId q = linear(at + "1.EncDecAttention.q", y, Q, root(C * c.head_dim));
        ValueId a = g.cross_attention(i, q, 1, dropout, t5_cross_keys);
        return linear(at + "1.EncDecAttention.o", a, C, root(Q));
      });
    }
    Builder::Scope s(b, "mlp");
    const std::string h = at + (encoder ? "1." : "2.");
    return sublayer(h + "layer_norm", x, [&](ValueId y) {
      ValueId up;  // [T,F]
      {
        Builder::Scope inner(b, "act");
        if (mlp.gated) {
          ValueId gate = linear(h + "DenseReluDense.wi_0", y, F, root(C));
          ValueId value = linear(h + "DenseReluDense.wi_1", y, F, root(C));
          up = ops::gate(b, gate, value, activation_kind(mlp.act));
        } else {
          up = activate(b, linear(h + "DenseReluDense.wi", y, F, root(C)), mlp.act);
        }
        up = g.dropout(up, dropout);
      }
      return linear(h + "DenseReluDense.wo", up, C, root(F));
    });
  }

  ValueId run() {
    Builder::Scope scope(b, side);
    ValueId x;  // [T,C]
    {
      Builder::Scope s(b, "embed");
      x = g.dropout(ops::embedding(b, t5_words(g), g.ids), dropout);
    }
    for (int64_t i = 0; i < t5_layers(c, encoder); ++i) {
      if (has_table(i))
        bias = bucket_bias(g, side, {t5_buckets(c), t5_max_distance(c), encoder},
                           [this, i] { return bias_rows(i); });
      Builder::Scope layer(b, fmt::format("block.{}", i));
      x = block(i, fmt::format("{}.block.{}.layer.", t5_name(c, side), i), x);
    }
    Builder::Scope s(b, "final_layer_norm");
    return g.dropout(norm(t5_name(c, side) + ".final_layer_norm", x), dropout);
  }
};

}  // namespace

ValueId t5_encoder(ModelGraph& g) { return T5Stack{{.g = g}, true}.run(); }
ValueId t5_decoder(ModelGraph& g) { return T5Stack{{.g = g}, false}.run(); }

}  // namespace hone
