// MPNet (Song et al. 2020, arXiv 2004.09297): RoBERTa's encoder without token types, whose layers
// add one bias by relative position in buckets to their scores.
#include "learn/models/encoder.h"
#include "learn/models/errors.h"
#include "learn/models/relative_buckets.h"

namespace hone {
namespace {

constexpr int64_t kPadding = 1;  // Transformers' class, whatever the config
constexpr Buckets kMpnetBuckets{.count = 32, .max_distance = 128, .both_ways = true};

// Defaults of Transformers' config class.
constexpr const char* kUsualMpnet =
    R"({"vocab_size": 30527, "hidden_size": 768, "num_hidden_layers": 12,
    "num_attention_heads": 12, "intermediate_size": 3072, "hidden_act": "gelu",
    "hidden_dropout_prob": 0.1, "attention_probs_dropout_prob": 0.1,
    "max_position_embeddings": 512, "initializer_range": 0.02, "layer_norm_eps": 1e-12,
    "relative_attention_num_buckets": 32, "pad_token_id": 1, "bos_token_id": 0,
    "eos_token_id": 2, "tie_word_embeddings": true})";

EncoderStyle mpnet_style() {
  return {.first_position = kPadding + 1,
          .decoder = "lm_head.decoder.weight",
          .names = {.query = "attention.attn.q",
                    .key = "attention.attn.k",
                    .value = "attention.attn.v",
                    .attended = "attention.attn.o",
                    .attended_norm = "attention.LayerNorm"},
          .token_types = false,
          .usual_padding = kPadding,
          .multiple_choice = true};
}

int64_t table_rows(const ModelConfig& c) {
  return c.integer("relative_attention_num_buckets", kMpnetBuckets.count).value();
}

Status read_mpnet_config(ModelConfig& c) {
  HONE_TRY(read_encoder_config(c, mpnet_style()));
  c.padding_token = kPadding;
  HONE_TRY(check_range("'relative_attention_num_buckets'",
                       HONE_TRY(c.integer("relative_attention_num_buckets", kMpnetBuckets.count)),
                       kMpnetBuckets.count, 65536));
  return read_positions_after_padding(c);
}

ValueId mpnet_body(ModelGraph& g) {
  const ModelConfig& c = g.config;
  EncoderStyle style = mpnet_style();
  const auto rows = [&] {  // [buckets,H]
    // Transformers takes no decay from what has "bias" in its name.
    return g.table(encoder_prefix(c) + "encoder.relative_attention_bias.weight", table_rows(c),
                   c.heads, {.decay = false});
  };
  const ValueId bias = bucket_bias(g, "encoder", kMpnetBuckets, rows);
  style.attend = [&g, &c, &style, bias](int64_t layer, const std::string& at, ValueId x) {
    ValueId q = g.linear(at + style.names.query, x, c.hidden);  // [T,C]
    ValueId k = g.linear(at + style.names.key, x, c.hidden);
    ValueId v = g.linear(at + style.names.value, x, c.hidden);
    return g.self_attention(layer, q, k, v, 1 / std::sqrt(static_cast<double>(c.head_dim)),
                            attention_dropout_of(c), 0, false, bias);
  };
  const ValueId x = encoder_body(g, style);
  if (g.declaring()) rows();  // where a checkpoint has it
  declare_pooler(g, "pooler.dense", x);
  return x;
}

HeadLayer mpnet_head(ModelGraph& g, ValueId x) {
  const ModelConfig& c = g.config;
  g.of_head = true;
  if (c.head == Head::masked_lm) {
    const ValueId bias = encoder_decoder_bias(g, "lm_head.bias", "lm_head.decoder.bias");
    x = encoder_transform(g, "lm_head.dense", "lm_head.layer_norm", x, "gelu");
    return {x, encoder_decoder_matrix(g, mpnet_style()), bias};
  }
  const double drop = c.real("hidden_dropout_prob", 0.1);
  if (c.head == Head::token_classification)
    return encoder_classifier(g, "classifier", g.dropout(x, drop));
  if (c.head == Head::multiple_choice)
    return pooled_classifier(g, encoder_prefix(c) + "pooler.dense", x, drop);
  return dense_classifier(g, x, drop, "tanh");
}

}  // namespace

Family family_mpnet() {
  return encoder_family({.name = "mpnet",
                         .model_types = {{"mpnet", "MPNet", kUsualMpnet}},
                         .read_config = read_mpnet_config,
                         .body = mpnet_body,
                         .head = mpnet_head,
                         .count_positions = number_tokens_of_text},
                        mpnet_style());
}

}  // namespace hone
