// ELECTRA (Clark et al. 2020, arXiv 2003.10555): BERT's encoder, whose embeddings may be narrower
// than its layers. Fine-tuning takes a discriminator; a generator predicts masked tokens.
#include "learn/models/activations.h"
#include "learn/models/encoder.h"
#include "learn/models/errors.h"

namespace hone {
namespace {

// Defaults of Transformers' config class.
constexpr const char* kUsualElectra =
    R"({"vocab_size": 30522, "embedding_size": 128, "hidden_size": 256, "num_hidden_layers": 12,
    "num_attention_heads": 4, "intermediate_size": 1024, "hidden_act": "gelu",
    "hidden_dropout_prob": 0.1, "attention_probs_dropout_prob": 0.1,
    "max_position_embeddings": 512, "type_vocab_size": 2, "initializer_range": 0.02,
    "layer_norm_eps": 1e-12, "pad_token_id": 0, "classifier_dropout": null, "bos_token_id": null,
    "eos_token_id": null, "tie_word_embeddings": true})";

EncoderStyle electra_style() {
  return {.decoder = "generator_lm_head.weight", .multiple_choice = true};
}

// Transformers' ElectraSequenceSummary of a choice, x [S,C].
ValueId electra_summary(ModelGraph& g, ValueId x) {
  const ModelConfig& c = g.config;
  if (c.flag("summary_use_proj", true))
    x = g.linear("sequence_summary.summary", x, c.hidden, {.rows = LinearLayer::Rows::sequences});
  const auto act = c.config.find("summary_activation");
  if (act == c.config.end() || !act->is_null())
    x = activate(g.b, x, c.text("summary_activation", "gelu"));
  return g.dropout_of_sequences(x, c.real("summary_last_dropout", 0.1));
}

Status read_electra_config(ModelConfig& c) {
  HONE_TRY(read_encoder_config(c, electra_style()));
  HONE_TRY(check_activation(c, "summary_activation", "gelu"));
  if (const std::string kind = c.text("summary_type", "first"); kind != "first")
    return Error(err::kConfigNotOffered,
                 fmt::format("config.json: summary_type '{}' is not supported", kind))
        .todo("first works");
  return Ok{};
}

ValueId electra_body(ModelGraph& g) {
  const ModelConfig& c = g.config;
  const EncoderStyle style = electra_style();
  ValueId x = encoder_embeddings(g, style);  // [T,E]
  if (embedding_width(c) != c.hidden)
    x = g.linear(encoder_prefix(c) + "embeddings_project", x, c.hidden);
  return encoder_layers(g, style, x);
}

HeadLayer electra_head(ModelGraph& g, ValueId x) {
  const ModelConfig& c = g.config;
  g.of_head = true;
  if (c.head == Head::masked_lm) {
    const std::string at = "generator_predictions.";
    x = encoder_transform(g, at + "dense", at + "LayerNorm", x, "gelu");
    const ValueId matrix = encoder_decoder_matrix(g, electra_style());
    return {x, matrix, g.zeros("generator_lm_head.bias", c.vocab)};
  }
  const double drop = classifier_dropout_of(c);
  if (c.head == Head::token_classification)
    return encoder_classifier(g, "classifier", g.dropout(x, drop));
  if (c.head == Head::multiple_choice)
    return encoder_classifier(g, "classifier", electra_summary(g, x));
  return dense_classifier(g, x, drop, "gelu");
}

}  // namespace

Family family_electra() {
  return encoder_family({.name = "electra",
                         .model_types = {{"electra", "Electra", kUsualElectra, {"query", "value"}}},
                         .read_config = read_electra_config,
                         .body = electra_body,
                         .head = electra_head,
                         .dropouts = {"summary_last_dropout"}},
                        electra_style());
}

}  // namespace hone
