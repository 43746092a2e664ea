// RoBERTa (Liu et al. 2019, arXiv 1907.11692): BERT's encoder whose positions begin after the
// padding token's id, with heads of its own; classifiers of sequences read the first token without
// a pooler.
#include "learn/models/activations.h"
#include "learn/models/encoder.h"
#include "learn/models/errors.h"

namespace hone {
namespace {

constexpr const char* kRobertaDecoder = "lm_head.decoder.weight";

// Defaults of Transformers' config class.
constexpr const char* kUsualRoberta =
    R"({"vocab_size": 50265, "hidden_size": 768, "num_hidden_layers": 12,
    "num_attention_heads": 12, "intermediate_size": 3072, "hidden_act": "gelu",
    "hidden_dropout_prob": 0.1, "attention_probs_dropout_prob": 0.1,
    "max_position_embeddings": 512, "type_vocab_size": 2, "initializer_range": 0.02,
    "layer_norm_eps": 1e-12, "pad_token_id": 1, "classifier_dropout": null, "bos_token_id": 0,
    "eos_token_id": 2, "tie_word_embeddings": true})";

// Transformers counts positions from the padding token, so that it must be there.
int64_t padding(const ModelConfig& c) { return c.padding_token; }

// The table of positions keeps row `padding` and those before it out of use.
Status read_roberta_config(ModelConfig& c) {
  HONE_TRY(read_encoder_config(c));
  if (padding(c) < 0)
    return Error(err::kBadConfig, "config.json: 'pad_token_id' is null, positions need one");
  const int64_t unused = padding(c) + 1;
  if (c.max_positions <= unused)
    return Error(err::kBadConfig,
                 fmt::format("config.json: max_position_embeddings {} leaves no position after "
                             "pad_token_id {}",
                             c.max_positions, padding(c)));
  c.max_positions -= unused;
  return Ok{};
}

EncoderStyle roberta_style(const ModelConfig& c) {
  return {.first_position = padding(c) + 1, .decoder = kRobertaDecoder};
}

// Tokens of padding have no number, also in the middle of a text: they get -1, which is the row
// that the table of positions keeps for them (Transformers' create_position_ids_from_input_ids).
void number_tokens(const ModelConfig& c, std::span<const int32_t> ids,
                   std::span<int32_t> positions) {
  int32_t before = 0;  // tokens of padding before this one, in the sequence
  for (size_t t = 0; t < positions.size(); ++t) {
    if (positions[t] == 0) before = 0;
    if (ids[t] == padding(c)) {
      positions[t] = -1;
      ++before;
    } else {
      positions[t] -= before;
    }
  }
}

ValueId roberta_body(ModelGraph& g) {
  const ValueId x = encoder_body(g, roberta_style(g.config));
  if (g.declaring() && g.config.head == Head::none) {  // nothing reads it, checkpoints have it
    g.of_head = true;
    g.linear("pooler.dense", x, g.config.hidden);
  }
  return x;
}

HeadLayer roberta_head(ModelGraph& g, ValueId x) {
  const ModelConfig& c = g.config;
  g.of_head = true;
  if (c.head == Head::masked_lm) {
    const ValueId bias = encoder_decoder_bias(g, "lm_head.bias", "lm_head.decoder.bias");
    x = activate(g.b, g.linear("lm_head.dense", x, c.hidden, {.rows = LinearLayer::Rows::labels}),
                 "gelu");
    x = encoder_norm(g, "lm_head.layer_norm", x);
    return {x, encoder_decoder_matrix(g, roberta_style(c)), bias};
  }
  const double drop = classifier_dropout_of(c);
  if (c.head == Head::token_classification)
    return encoder_classifier(g, "classifier", g.dropout(x, drop));
  {
    Builder::Scope s(g.b, "dense");
    x = g.dropout_of_sequences(x, drop);  // [S,C]
    x = ops::tanh(
        g.b, g.linear("classifier.dense", x, c.hidden, {.rows = LinearLayer::Rows::sequences}));
  }
  Builder::Scope s(g.b, "out_proj");
  return encoder_classifier(g, "classifier.out_proj", g.dropout_of_sequences(x, drop));
}

}  // namespace

Family family_roberta() {
  return encoder_family({.name = "roberta",
                         .model_types = {{"roberta", "Roberta", kUsualRoberta, {"query", "value"}}},
                         .heads = {{Head::masked_lm, "ForMaskedLM"},
                                   {Head::sequence_classification, "ForSequenceClassification"},
                                   {Head::token_classification, "ForTokenClassification"},
                                   {Head::none, "Model"}},
                         .read_config = read_roberta_config,
                         .body = roberta_body,
                         .head = roberta_head,
                         .count_positions = number_tokens,
                         .separate_head = kRobertaDecoder});
}

}  // namespace hone
