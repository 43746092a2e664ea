// RoBERTa (Liu et al. 2019, arXiv 1907.11692): BERT's encoder whose positions begin after the
// padding token's id, with heads of its own; classifiers of sequences read the first token without
// a pooler.
#include "learn/models/encoder.h"
#include "learn/models/errors.h"

namespace hone {
namespace {

constexpr const char* kDecoder = "lm_head.decoder.weight";
constexpr const char* kBias = "lm_head.bias";
// What Transformers uses when the decoder is tied to nothing.
constexpr const char* kDecoderBias = "lm_head.decoder.bias";

std::string words(const ModelConfig& c) {
  return encoder_prefix(c) + "embeddings.word_embeddings.weight";
}

// Transformers counts positions from the padding token, so that it must be there.
int64_t padding(const ModelConfig& c) { return c.padding_token; }

// The table of positions keeps row `padding` and those before it out of use.
Status read_config(ModelConfig& c) {
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

std::vector<ParamSpec> params(const ModelConfig& c) {
  ParamList p = encoder_params(c, padding(c));
  p.of_head = true;
  if (c.head == Head::none) p.linear("pooler.dense", c.hidden, c.hidden);
  if (c.head == Head::token_classification) p.linear("classifier", c.hidden, c.labels);
  if (c.head == Head::sequence_classification) {
    p.linear("classifier.dense", c.hidden, c.hidden);
    p.linear("classifier.out_proj", c.hidden, c.labels);
  }
  if (c.head == Head::masked_lm) {
    p.bias(c.tied ? kBias : kDecoderBias, c.vocab);
    p.linear("lm_head.dense", c.hidden, c.hidden);
    p.norm("lm_head.layer_norm", c.hidden);
    if (!c.tied) p.table(kDecoder, c.vocab, c.hidden);
  }
  return std::move(p.list);
}

ValueId body(ModelGraph& g) { return encoder_body(g, padding(g.config) + 1); }

HeadLayer head(ModelGraph& g, ValueId x) {
  const ModelConfig& c = g.config;
  if (c.head == Head::masked_lm) {
    x = activated_linear_of(g, "lm_head.dense", x, "gelu");
    x = norm_of(g, "lm_head.layer_norm", x);
    return {x, g.param(c.tied ? words(c) : kDecoder), g.param(c.tied ? kBias : kDecoderBias)};
  }
  const double drop = classifier_dropout_of(c);
  if (c.head == Head::token_classification)
    return {g.dropout(x, drop), g.param("classifier.weight"), g.param("classifier.bias")};
  {
    Builder::Scope s(g.b, "dense");
    x = g.dropout_of_sequences(x, drop);  // [S,C]
    x = ops::tanh(g.b, linear_of(g, "classifier.dense", x));
  }
  Builder::Scope s(g.b, "out_proj");
  x = g.dropout_of_sequences(x, drop);
  return {x, g.param("classifier.out_proj.weight"), g.param("classifier.out_proj.bias")};
}

std::vector<std::string> other_names(const ModelConfig& c, const std::string& name) {
  std::vector<std::pair<std::string, std::string>> same{{kBias, kDecoderBias}};
  if (c.tied) same.emplace_back(words(c), kDecoder);
  return encoder_other_names(c, name, same);
}

}  // namespace

Family family_roberta() {
  return {.name = "roberta",
          .model_types = {"roberta"},
          .heads = {{Head::masked_lm, "RobertaForMaskedLM"},
                    {Head::sequence_classification, "RobertaForSequenceClassification"},
                    {Head::token_classification, "RobertaForTokenClassification"},
                    {Head::none, "RobertaModel"}},
          .read_config = read_config,
          .params = params,
          .body = body,
          .head = head,
          .other_names = other_names};
}

}  // namespace hone
