// T5 (Raffel et al., arXiv 1910.10683): relative positions in buckets, RMS norms before the
// sublayers, no biases, scores without a scale. Linear weights are [out, in].
//   t5   relu MLP and tied head, or (1.1, flan) gated GELU and a head of its own (arXiv 2002.05202)
//   mt5  as 1.1 with more languages (arXiv 2010.11934)
//   umt5 as mt5, with a table of relative positions in each layer (arXiv 2304.09151)
#include "learn/models/activations.h"
#include "learn/models/bart_blocks.h"
#include "learn/models/errors.h"
#include "learn/models/family.h"
#include "learn/models/gguf_layout.h"
#include "learn/models/relative_buckets.h"

namespace hone {
namespace {

constexpr const char* kT5Head = "lm_head.weight";
constexpr const char* kT5Body = "transformer.";  // in front of the body's names in a classifier
constexpr int64_t kNoLimit = kLargestSize;       // positions: only distances are embedded

bool is_classifier(const ModelConfig& c) { return c.head == Head::sequence_classification; }
std::string t5_name(const ModelConfig& c, const std::string& name) {
  return is_classifier(c) ? kT5Body + name : name;
}

int64_t t5_layers(const ModelConfig& c, bool encoder) {
  return encoder ? c.integer("num_layers", 6).value() : c.layers;
}
int64_t t5_inner(const ModelConfig& c) { return c.integer("d_ff", 2048).value(); }
int64_t bucket_count(const ModelConfig& c) {
  return c.integer("relative_attention_num_buckets", 32).value();
}
int64_t max_distance(const ModelConfig& c) {
  return c.integer("relative_attention_max_distance", 128).value();
}

// feed_forward_proj is "ACT" or "gated-ACT"; "gated-gelu" means the tanh form.
struct FeedForward {
  bool gated = false;
  std::string act;
};
FeedForward feed_forward(const ModelConfig& c) {
  std::string name =
      c.text("feed_forward_proj", c.text("model_type", "t5") == "t5" ? "relu" : "gated-gelu");
  FeedForward f;
  f.gated = name.starts_with("gated-");
  if (f.gated) name = name.substr(6);
  f.act = name == "gelu" && f.gated ? "gelu_new" : name;
  return f;
}

// The kinds that ops::gate has not.
bool gates(const std::string& act) { return act != "tanh" && act != "linear"; }

// The first T5 divides what goes into the head by sqrt(d_model); 1.1 does not, which older configs
// say by tie_word_embeddings alone. mT5 never does.
bool scales_head(const ModelConfig& c) {
  if (c.text("model_type", "t5") == "mt5") return false;
  return c.flag("scale_decoder_outputs", c.flag("tie_word_embeddings", true));
}

Status check_size(const ModelConfig& c, const char* key, int64_t least, int64_t most) {
  const int64_t v = HONE_TRY(c.integer(key, least));
  if (v >= least && v <= most) return Ok{};
  return Error(err::kBadConfig,
               fmt::format("config.json: '{}' is {}, {} to {} is expected", key, v, least, most));
}

Status read_t5_config(ModelConfig& c) {
  c.vocab = c.source_vocab = HONE_TRY(c.integer("vocab_size"));
  c.hidden = HONE_TRY(c.integer("d_model"));
  HONE_TRY(check_size(c, "num_layers", 1, kMostLayers));
  c.layers = HONE_TRY(c.integer("num_decoder_layers", t5_layers(c, true)));
  c.heads = c.kv_heads = c.encoder_heads = HONE_TRY(c.integer("num_heads"));
  c.head_dim = HONE_TRY(c.integer("d_kv", 64));
  c.max_positions = kNoLimit;
  c.tied = c.flag("tie_word_embeddings", true);
  HONE_TRY(check_size(c, "d_ff", 1, kNoLimit));
  HONE_TRY(check_size(c, "relative_attention_num_buckets", 4, 65536));
  HONE_TRY(check_size(c, "relative_attention_max_distance", 1, 65536));
  if (max_distance(c) <= bucket_count(c) / 2)
    return Error(
        err::kBadConfig,
        fmt::format("config.json: relative_attention_max_distance {} leaves no room for {} "
                    "relative_attention_num_buckets",
                    max_distance(c), bucket_count(c)));
  if (const FeedForward f = feed_forward(c); !knows_activation(f.act) || (f.gated && !gates(f.act)))
    return Error(err::kConfigNotOffered,
                 fmt::format("config.json: feed_forward_proj '{}' is not supported",
                             c.text("feed_forward_proj", "")))
        .todo("relu, gelu, gelu_new, silu and swish work, and each of them as gated-...");
  if (!c.flag("is_encoder_decoder", true))
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

ValueId shared(ModelGraph& g) {
  const ModelConfig& c = g.config;
  TableOptions o{.std = c.real("initializer_factor", 1)};
  o.also = {"encoder.embed_tokens.weight", "decoder.embed_tokens.weight"};
  for (std::string& name : o.also) name = t5_name(c, name);
  if (c.tied && !is_classifier(c)) o.also.emplace_back(kT5Head);
  return g.table(t5_name(c, "shared.weight"), c.vocab, c.hidden, o);
}

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

CrossKeys cross_keys(ModelGraph& g, int64_t layer) {
  const Layers layers{.g = g};
  const ModelConfig& c = g.config;
  const std::string at =
      t5_name(c, fmt::format("decoder.block.{}.layer.1.EncDecAttention.", layer));
  CrossKeys keys;
  keys.k = layers.linear(at + "k", g.encoded, c.heads * c.head_dim, layers.root(c.hidden));
  keys.v = layers.linear(at + "v", g.encoded, c.heads * c.head_dim, layers.root(c.hidden));
  return keys;
}

// One stack under construction.
struct T5Stack : Layers {
  bool encoder;
  Builder& b = g.b;
  const ModelConfig& c = g.config;
  int64_t C = c.hidden, F = t5_inner(c), Q = c.heads * c.head_dim;
  double dropout = c.real("dropout_rate", 0.1);
  FeedForward mlp = feed_forward(c);
  std::string side = encoder ? "encoder" : "decoder";
  ValueId bias = kNoValue;

  // Whether the layer has a table of its own; the others have that of the first.
  bool has_table(int64_t layer) const { return layer == 0 || c.text("model_type", "t5") == "umt5"; }
  ValueId bias_rows(int64_t layer) const {  // [buckets,H]
    // Transformers takes no decay from what has "bias" in its name.
    return g.table(fmt::format("{}.block.{}.layer.0.SelfAttention.relative_attention_bias.weight",
                               t5_name(c, side), layer),
                   bucket_count(c), c.heads, {.std = root(C), .decay = false});
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
        ValueId a = g.cross_attention(i, q, 1, dropout, cross_keys);
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
      x = g.dropout(ops::embedding(b, shared(g), g.ids), dropout);
    }
    for (int64_t i = 0; i < t5_layers(c, encoder); ++i) {
      if (has_table(i))
        bias = bucket_bias(g, side, {bucket_count(c), max_distance(c), encoder},
                           [this, i] { return bias_rows(i); });
      Builder::Scope layer(b, fmt::format("block.{}", i));
      x = block(i, fmt::format("{}.block.{}.layer.", t5_name(c, side), i), x);
    }
    Builder::Scope s(b, "final_layer_norm");
    return g.dropout(norm(t5_name(c, side) + ".final_layer_norm", x), dropout);
  }
};

ValueId encoder(ModelGraph& g) { return T5Stack{{.g = g}, true}.run(); }
ValueId decoder(ModelGraph& g) { return T5Stack{{.g = g}, false}.run(); }

HeadLayer t5_head(ModelGraph& g, ValueId hidden) {
  const ModelConfig& c = g.config;
  if (is_classifier(c))
    return dense_classifier(
        g, hidden, c.real("classifier_dropout", 0),
        c.real("initializer_factor", 1) / std::sqrt(static_cast<double>(c.hidden)));
  if (scales_head(c))
    hidden = ops::mul(
        g.b, hidden,
        ops::constant(g.b, 1 / std::sqrt(static_cast<double>(c.hidden)), {DType::f32, {}}));
  if (c.tied) return {hidden, shared(g)};
  return {hidden, g.matrix(kT5Head, c.vocab, c.hidden, c.real("initializer_factor", 1))};
}

// llama.cpp: relu or, gated, gelu; distances up to 128; what goes into the head is not scaled.
std::string t5_unwritable(const ModelConfig& c) {
  const FeedForward f = feed_forward(c);
  if (f.act != (f.gated ? "gelu_new" : "relu"))
    return fmt::format("its feed_forward_proj is {}", c.text("feed_forward_proj", ""));
  if (max_distance(c) != 128) return "its relative_attention_max_distance is not 128";
  if (scales_head(c)) return "what goes into its head is scaled";
  if (c.text("model_type", "t5") == "t5" && c.tied && !f.gated)
    return "its head is tied and not scaled, in a model like the first T5";
  return "";
}

std::vector<GgufName> t5_gguf_names(const char* mlp) {
  const auto at = [&](const char* name) { return fmt::format("layer.{}.{}", mlp, name); };
  return {{"attn_norm", "layer.0.layer_norm"},
          {"attn_q", "layer.0.SelfAttention.q"},
          {"attn_k", "layer.0.SelfAttention.k"},
          {"attn_v", "layer.0.SelfAttention.v"},
          {"attn_o", "layer.0.SelfAttention.o"},
          {"ffn_norm", at("layer_norm")},
          {"ffn_up", at("DenseReluDense.wi_1"), "enc.blk.0.ffn_gate.weight"},
          {"ffn_up", at("DenseReluDense.wi")},
          {"ffn_gate", at("DenseReluDense.wi_0")},
          {"ffn_down", at("DenseReluDense.wo")}};
}

void finish_t5(Json& config, const std::function<bool(const char*)>& has) {
  const bool gated = has("enc.blk.0.ffn_gate.weight");
  config["feed_forward_proj"] = gated ? "gated-gelu" : "relu";
  config["scale_decoder_outputs"] = !gated && !has("output.weight");  // the first T5
}

GgufLayout t5_layout() {
  using Values = std::vector<int64_t> (*)(const ModelConfig& c);
  const auto number = [](const char* gguf, const char* config, Values values) {
    return GgufKey{.gguf = gguf, .config = config, .values = values};
  };
  const auto eps = [](const char* gguf) {
    return GgufKey{.gguf = gguf,
                   .config = "layer_norm_epsilon",
                   .is_real = true,
                   .real = [](const ModelConfig& c) { return c.real("layer_norm_epsilon", 1e-6); }};
  };
  GgufLayout g{
      .architecture = "t5",
      .keys = {number("context_length", "n_positions",
                      [](const ModelConfig& c) {
                        return std::vector{c.integer("n_positions", 512).value()};
                      }),
               {"embedding_length", "d_model"},
               number("feed_forward_length", "d_ff",
                      [](const ModelConfig& c) { return std::vector{t5_inner(c)}; }),
               number("block_count", "num_layers",
                      [](const ModelConfig& c) { return std::vector{t5_layers(c, true)}; }),
               number("decoder_block_count", "num_decoder_layers",
                      [](const ModelConfig& c) { return std::vector{c.layers}; }),
               {"attention.head_count", "num_heads"},
               {"attention.key_length", "d_kv"},
               {"attention.value_length", ""},
               eps("attention.layer_norm_epsilon"),
               eps("attention.layer_norm_rms_epsilon"),
               number("attention.relative_buckets_count", "relative_attention_num_buckets",
                      [](const ModelConfig& c) { return std::vector{bucket_count(c)}; }),
               number("decoder_start_token_id", "decoder_start_token_id",
                      [](const ModelConfig& c) { return std::vector{c.decoder_start}; }),
               {"vocab_size", "vocab_size"}},
      .needed = {"d_model", "d_ff", "num_layers", "num_heads", "d_kv"},
      .once = {{"token_embd", "shared"},
               {"enc.output_norm", "encoder.final_layer_norm"},
               {"dec.output_norm", "decoder.final_layer_norm"},
               {"enc.blk.0.attn_rel_b",
                "encoder.block.0.layer.0.SelfAttention.relative_attention_bias"},
               {"dec.blk.0.attn_rel_b",
                "decoder.block.0.layer.0.SelfAttention.relative_attention_bias"},
               {"output", "lm_head"}},
      .of_layer = t5_gguf_names("1"),
      .layers = "encoder.block.",
      .block = "enc.blk.",
      .stacks = {{"dec.blk.", "decoder.block.", t5_gguf_names("2")}},
      .head = Head::seq2seq_lm,
      .unwritable = t5_unwritable,
      .finish = finish_t5};
  std::vector<GgufName>& decoder = g.stacks[0].names;
  decoder.insert(decoder.end(), {{"cross_attn_norm", "layer.1.layer_norm"},
                                 {"cross_attn_q", "layer.1.EncDecAttention.q"},
                                 {"cross_attn_k", "layer.1.EncDecAttention.k"},
                                 {"cross_attn_v", "layer.1.EncDecAttention.v"},
                                 {"cross_attn_o", "layer.1.EncDecAttention.o"}});
  return g;
}

const GgufLayout* gguf_of_t5() {
  static const GgufLayout layout = t5_layout();
  return &layout;
}
const GgufLayout* gguf_of_mt5() {
  static const GgufLayout layout = [] {
    GgufLayout g = t5_layout();
    g.general_name = "mt5";
    return g;
  }();
  return &layout;
}
// A table of distances in each layer.
const GgufLayout* gguf_of_umt5() {
  static const GgufLayout layout = [] {
    GgufLayout g = t5_layout();
    g.holds = "enc.blk.1.attn_rel_b.weight";
    const std::string table = "layer.0.SelfAttention.relative_attention_bias";
    std::erase_if(g.once, [&](const GgufName& n) { return n.weight.ends_with(table); });
    g.of_layer.push_back({"attn_rel_b", table});
    g.stacks[0].names.push_back({"attn_rel_b", table});
    return g;
  }();
  return &layout;
}

}  // namespace

Family family_t5() {
  return {.name = "t5",
          .model_types = {{"t5", "T5", "", {"q", "v"}, gguf_of_t5()},
                          {"mt5", "MT5", "", {"q", "v"}, gguf_of_mt5()},
                          {"umt5", "UMT5", "", {}, gguf_of_umt5()}},
          .heads = {{Head::seq2seq_lm, "ForConditionalGeneration"},
                    {Head::sequence_classification, "ForSequenceClassification"}},
          .read_config = read_t5_config,
          .body = decoder,
          .head = t5_head,
          .encoder = encoder,
          .cross_keys = cross_keys,
          .dropouts = {"dropout_rate", "classifier_dropout"},
          .body_prefix = kT5Body,
          .unread = {".EncDecAttention.relative_attention_bias.weight"},
          .separate_head = kT5Head,
          .head_of_file = true,
          .module_order = std::vector<std::string>(),
          // The residual stream of what Google trained leaves the range of f16
          // (github.com/huggingface/transformers, issue 4586); products in bf16 are safe.
          .safe_in_f16 = false};
}

}  // namespace hone
