// BERT (Devlin et al. 2019, arXiv 1810.04805): the encoder of encoder.h. The masked-language-model
// head has a transform of its own before the tied decoder; classifiers of sequences follow the
// pooler, tanh of a linear layer over the first token.
#include "learn/models/encoder.h"
#include "learn/models/encoder_gguf.h"

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

EncoderStyle bert_style() {
  return {.decoder = "cls.predictions.decoder.weight", .multiple_choice = true};
}

ValueId bert_body(ModelGraph& g) {
  const ValueId x = encoder_body(g, bert_style());
  declare_pooler(g, "pooler.dense", x);
  return x;
}

HeadLayer bert_head(ModelGraph& g, ValueId x) {
  const ModelConfig& c = g.config;
  g.of_head = true;
  if (c.head == Head::masked_lm) {
    const std::string at = "cls.predictions.transform.";
    const ValueId bias =
        encoder_decoder_bias(g, "cls.predictions.bias", "cls.predictions.decoder.bias");
    x = encoder_transform(g, at + "dense", at + "LayerNorm", x, hidden_act_of(c));
    return {x, encoder_decoder_matrix(g, bert_style()), bias};
  }
  if (c.head == Head::token_classification)
    return encoder_classifier(g, "classifier", g.dropout(x, classifier_dropout_of(c)));
  return pooled_classifier(g, encoder_prefix(c) + "pooler.dense", x, classifier_dropout_of(c));
}

const GgufLayout* gguf_of_bert() {
  static const GgufLayout layout = [] {
    GgufLayout g = encoder_gguf("bert", "bert", bert_style());
    g.classifier = {{"cls", "pooler.dense"}, {"cls.output", "classifier"}};
    g.unwritable = [](const ModelConfig& c) { return encoder_unwritable(c, bert_style()); };
    return g;
  }();
  return &layout;
}

}  // namespace

Family family_bert() {
  return encoder_family(
      {.name = "bert",
       .model_types = {{"bert", "Bert", kUsualBert, {"query", "value"}, gguf_of_bert()}},
       .read_config = [](ModelConfig& c) { return read_encoder_config(c, bert_style()); },
       .body = bert_body,
       .head = bert_head,
       .module_order = {{"transform", "decoder"}}},
      bert_style());
}

}  // namespace hone
