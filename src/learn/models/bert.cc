// BERT (Devlin et al. 2019, arXiv 1810.04805): the encoder of encoder.h. The masked-language-model
// head has a transform of its own before the tied decoder; classifiers of sequences follow the
// pooler, tanh of a linear layer over the first token.
#include "learn/models/encoder.h"

namespace hone {
namespace {

constexpr const char* kTransform = "cls.predictions.transform";
constexpr const char* kDecoder = "cls.predictions.decoder.weight";
constexpr const char* kBias = "cls.predictions.bias";
// What Transformers uses when the decoder is tied to nothing.
constexpr const char* kDecoderBias = "cls.predictions.decoder.bias";

std::string words(const ModelConfig& c) {
  return encoder_prefix(c) + "embeddings.word_embeddings.weight";
}

std::vector<ParamSpec> params(const ModelConfig& c) {
  ParamList p = encoder_params(c);
  p.of_head = true;
  if (c.head == Head::sequence_classification || c.head == Head::none)
    p.linear(encoder_prefix(c) + "pooler.dense", c.hidden, c.hidden);
  if (c.head == Head::sequence_classification || c.head == Head::token_classification)
    p.linear("classifier", c.hidden, c.labels);
  if (c.head == Head::masked_lm) {
    p.bias(c.tied ? kBias : kDecoderBias, c.vocab);
    p.linear(std::string(kTransform) + ".dense", c.hidden, c.hidden);
    p.norm(std::string(kTransform) + ".LayerNorm", c.hidden);
    if (!c.tied) p.table(kDecoder, c.vocab, c.hidden);
  }
  return std::move(p.list);
}

ValueId body(ModelGraph& g) { return encoder_body(g); }

HeadLayer head(ModelGraph& g, ValueId x) {
  const ModelConfig& c = g.config;
  if (c.head == Head::masked_lm) {
    const std::string at = kTransform;
    x = activated_linear_of(g, at + ".dense", x, hidden_act_of(c));
    x = norm_of(g, at + ".LayerNorm", x);
    return {x, g.param(c.tied ? words(c) : kDecoder), g.param(c.tied ? kBias : kDecoderBias)};
  }
  if (c.head == Head::sequence_classification) {
    x = linear_of(g, encoder_prefix(c) + "pooler.dense", x);  // [S,C]
    x = g.dropout_of_sequences(ops::tanh(g.b, x), classifier_dropout_of(c));
  } else {
    x = g.dropout(x, classifier_dropout_of(c));
  }
  return {x, g.param("classifier.weight"), g.param("classifier.bias")};
}

std::vector<std::string> other_names(const ModelConfig& c, const std::string& name) {
  std::vector<std::pair<std::string, std::string>> same{{kBias, kDecoderBias}};
  if (c.tied) same.emplace_back(words(c), kDecoder);
  return encoder_other_names(c, name, same);
}

}  // namespace

Family family_bert() {
  return {.name = "bert",
          .model_types = {"bert"},
          .heads = {{Head::masked_lm, "BertForMaskedLM"},
                    {Head::sequence_classification, "BertForSequenceClassification"},
                    {Head::token_classification, "BertForTokenClassification"},
                    {Head::none, "BertModel"}},
          .read_config = read_encoder_config,
          .params = params,
          .body = body,
          .head = head,
          .other_names = other_names};
}

}  // namespace hone
