// BERT (Devlin et al. 2019, arXiv 1810.04805): the encoder of encoder.h. The masked-language-model
// head has a transform of its own before the tied decoder; classifiers of sequences follow the
// pooler, tanh of a linear layer over the first token.
#include "learn/models/activations.h"
#include "learn/models/encoder.h"

namespace hone {
namespace {

// Defaults of Transformers' config class.
constexpr const char* kUsualBert =
    R"({"vocab_size": 30522, "hidden_size": 768, "num_hidden_layers": 12,
    "num_attention_heads": 12, "intermediate_size": 3072, "hidden_act": "gelu",
    "hidden_dropout_prob": 0.1, "attention_probs_dropout_prob": 0.1,
    "max_position_embeddings": 512, "type_vocab_size": 2, "initializer_range": 0.02,
    "layer_norm_eps": 1e-12, "pad_token_id": 0, "classifier_dropout": null,
    "bos_token_id": null, "eos_token_id": null, "tie_word_embeddings": true})";

constexpr EncoderStyle kStyle{.decoder = "cls.predictions.decoder.weight"};

ValueId pooled(ModelGraph& g, ValueId x) {
  return g.linear(encoder_prefix(g.config) + "pooler.dense", x, g.config.hidden,
                  {.rows = LinearLayer::Rows::sequences});
}

ValueId bert_body(ModelGraph& g) {
  const ValueId x = encoder_body(g, kStyle);
  if (g.declaring() && g.config.head == Head::none) {  // nothing reads it, checkpoints have it
    g.of_head = true;
    pooled(g, x);
  }
  return x;
}

HeadLayer bert_head(ModelGraph& g, ValueId x) {
  const ModelConfig& c = g.config;
  g.of_head = true;
  if (c.head == Head::masked_lm) {
    const std::string at = "cls.predictions.transform.";
    const ValueId bias =
        encoder_decoder_bias(g, "cls.predictions.bias", "cls.predictions.decoder.bias");
    x = activate(g.b, g.linear(at + "dense", x, c.hidden, {.rows = LinearLayer::Rows::labels}),
                 hidden_act_of(c));
    x = encoder_norm(g, at + "LayerNorm", x);
    return {x, encoder_decoder_matrix(g, kStyle), bias};
  }
  if (c.head == Head::sequence_classification) {
    x = ops::tanh(g.b, pooled(g, x));  // [S,C]
    x = g.dropout_of_sequences(x, classifier_dropout_of(c));
  } else {
    x = g.dropout(x, classifier_dropout_of(c));
  }
  return encoder_classifier(g, "classifier", x);
}

}  // namespace

Family family_bert() {
  return encoder_family({.name = "bert",
                         .model_types = {{"bert", "Bert", kUsualBert, {"query", "value"}}},
                         .heads = {{Head::masked_lm, "ForMaskedLM"},
                                   {Head::sequence_classification, "ForSequenceClassification"},
                                   {Head::token_classification, "ForTokenClassification"},
                                   {Head::none, "Model"}},
                         .read_config = read_encoder_config,
                         .body = bert_body,
                         .head = bert_head,
                         .separate_head = kStyle.decoder});
}

}  // namespace hone
