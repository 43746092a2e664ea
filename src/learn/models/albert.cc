// ALBERT (Lan et al. 2020, arXiv 1909.11942): BERT's encoder, whose layers share the weights of a
// few groups, and whose embeddings are narrower than its layers.
#include "learn/models/encoder.h"
#include "learn/models/errors.h"

namespace hone {
namespace {

// Defaults of Transformers' config class.
constexpr const char* kUsualAlbert =
    R"({"vocab_size": 30000, "embedding_size": 128, "hidden_size": 4096, "num_hidden_layers": 12,
    "num_hidden_groups": 1, "num_attention_heads": 64, "intermediate_size": 16384,
    "inner_group_num": 1, "hidden_act": "gelu_new", "hidden_dropout_prob": 0.0,
    "attention_probs_dropout_prob": 0.0, "max_position_embeddings": 512, "type_vocab_size": 2,
    "initializer_range": 0.02, "layer_norm_eps": 1e-12, "classifier_dropout_prob": 0.1,
    "pad_token_id": 0, "bos_token_id": 2, "eos_token_id": 3, "tie_word_embeddings": true})";

int64_t groups(const ModelConfig& c) { return c.integer("num_hidden_groups", 1).value(); }
// Layers of a group, which follow each other.
int64_t group_layers(const ModelConfig& c) { return c.integer("inner_group_num", 1).value(); }

// Transformers divides the layers among the groups in floating point.
std::string albert_layer(const ModelConfig& c, int64_t layer) {
  const int64_t inner = group_layers(c), rounds = c.layers / inner;
  const double per_group = static_cast<double>(rounds) / static_cast<double>(groups(c));
  const auto group = static_cast<int64_t>(static_cast<double>(layer / inner) / per_group);
  return fmt::format("encoder.albert_layer_groups.{}.albert_layers.{}.", group, layer % inner);
}

EncoderStyle albert_style() {
  return {.decoder = "predictions.decoder.weight",
          .keys = {.classifier_dropout = "classifier_dropout_prob"},
          .names = {.query = "attention.query",
                    .key = "attention.key",
                    .value = "attention.value",
                    .attended = "attention.dense",
                    .attended_norm = "attention.LayerNorm",
                    .up = "ffn",
                    .down = "ffn_output",
                    .norm = "full_layer_layer_norm"},
          .usual_dropout = 0,
          .usual_act = "gelu_new",
          .inner_dropout = false,
          .layer_name = albert_layer,
          .multiple_choice = true};
}

Status read_albert_config(ModelConfig& c) {
  HONE_TRY(read_encoder_config(c, albert_style()));
  HONE_TRY(check_range("the number of layers", c.layers, 1, kMostLayers));
  HONE_TRY(
      check_range("'num_hidden_groups'", HONE_TRY(c.integer("num_hidden_groups", 1)), 1, c.layers));
  HONE_TRY(check_range("'inner_group_num'", HONE_TRY(c.integer("inner_group_num", 1)), 1,
                       kMostLayers / c.layers));
  c.layers *= group_layers(c);
  return Ok{};
}

ValueId albert_body(ModelGraph& g) {
  const ModelConfig& c = g.config;
  const EncoderStyle style = albert_style();
  ValueId x = encoder_embeddings(g, style);  // [T,E]
  x = g.linear(encoder_prefix(c) + "encoder.embedding_hidden_mapping_in", x, c.hidden);
  x = encoder_layers(g, style, x);
  declare_pooler(g, "pooler", x);
  return x;
}

HeadLayer albert_head(ModelGraph& g, ValueId x) {
  const ModelConfig& c = g.config;
  const EncoderStyle style = albert_style();
  g.of_head = true;
  if (c.head == Head::masked_lm) {
    const ValueId bias = encoder_decoder_bias(g, "predictions.bias", "predictions.decoder.bias");
    x = encoder_transform(g, "predictions.dense", "predictions.LayerNorm", x,
                          hidden_act_of(c, style));
    return {x, encoder_decoder_matrix(g, style), bias};
  }
  const double drop = classifier_dropout_of(c, style);
  if (c.head == Head::token_classification)
    return encoder_classifier(g, "classifier", g.dropout(x, drop));
  return pooled_classifier(g, encoder_prefix(c) + "pooler", x, drop);
}

}  // namespace

Family family_albert() {
  return encoder_family({.name = "albert",
                         .model_types = {{"albert", "Albert", kUsualAlbert}},
                         .read_config = read_albert_config,
                         .body = albert_body,
                         .head = albert_head},
                        albert_style());
}

}  // namespace hone
