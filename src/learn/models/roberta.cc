// RoBERTa (Liu et al. 2019, arXiv 1907.11692): BERT's encoder whose positions begin after the
// padding token's id, with heads of its own; classifiers of sequences read the first token without
// a pooler.
//   roberta      also DistilRoBERTa (Sanh et al. 2019, arXiv 1910.01108), which has fewer layers
//   xlm-roberta  the same with many languages (Conneau et al. 2020, arXiv 1911.02116)
//   camembert    the same in French (Martin et al. 2020, arXiv 1911.03894)
#include "learn/models/encoder.h"
#include "learn/models/encoder_gguf.h"

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

constexpr const char* kUsualXlmRoberta =
    R"({"vocab_size": 30522, "hidden_size": 768, "num_hidden_layers": 12,
    "num_attention_heads": 12, "intermediate_size": 3072, "hidden_act": "gelu",
    "hidden_dropout_prob": 0.1, "attention_probs_dropout_prob": 0.1,
    "max_position_embeddings": 512, "type_vocab_size": 2, "initializer_range": 0.02,
    "layer_norm_eps": 1e-12, "pad_token_id": 1, "classifier_dropout": null, "bos_token_id": 0,
    "eos_token_id": 2, "tie_word_embeddings": true})";

Status read_roberta_config(ModelConfig& c) {
  HONE_TRY(read_encoder_config(c, {.usual_padding = 1}));
  return read_positions_after_padding(c);
}

EncoderStyle roberta_style(const ModelConfig& c) {
  return {.first_position = c.padding_token + 1, .decoder = kRobertaDecoder};
}

ValueId roberta_body(ModelGraph& g) {
  const ValueId x = encoder_body(g, roberta_style(g.config));
  declare_pooler(g, "pooler.dense", x);
  return x;
}

HeadLayer roberta_head(ModelGraph& g, ValueId x) {
  const ModelConfig& c = g.config;
  g.of_head = true;
  if (c.head == Head::masked_lm) {
    const ValueId bias = encoder_decoder_bias(g, "lm_head.bias", "lm_head.decoder.bias");
    x = encoder_transform(g, "lm_head.dense", "lm_head.layer_norm", x, "gelu");
    return {x, encoder_decoder_matrix(g, roberta_style(c)), bias};
  }
  const double drop = classifier_dropout_of(c);
  if (c.head == Head::token_classification)
    return encoder_classifier(g, "classifier", g.dropout(x, drop));
  if (c.head == Head::multiple_choice)
    return pooled_classifier(g, encoder_prefix(c, roberta_style(c)) + "pooler.dense", x,
                             c.real("hidden_dropout_prob", 0.1));
  return dense_classifier(g, x, drop, "tanh");
}

// llama.cpp numbers positions from 0: the file's length does not count the rows up to padding's.
void finish_roberta(Json& config, const std::function<bool(const char*)>&) {
  config["max_position_embeddings"] =
      config["max_position_embeddings"].get<int64_t>() + config["pad_token_id"].get<int64_t>() + 1;
}

GgufLayout roberta_layout(const char* tokenizer) {
  GgufLayout g = encoder_gguf("bert", tokenizer, {});
  g.classifier = {{"cls", "classifier.dense"}, {"cls.output", "classifier.out_proj"}};
  g.after_padding = "embeddings.position_embeddings.weight";
  g.unwritable = [](const ModelConfig& c) { return encoder_unwritable(c, {}); };
  g.finish = finish_roberta;
  return g;
}

// By the vocabulary: byte-level BPE or SentencePiece's Unigram.
const GgufLayout* gguf_of_roberta() {
  static const GgufLayout layout = roberta_layout("gpt2");
  return &layout;
}
const GgufLayout* gguf_of_xlm_roberta() {
  static const GgufLayout layout = roberta_layout("t5");
  return &layout;
}
const GgufLayout* gguf_of_camembert() {
  static const GgufLayout layout = [] {
    GgufLayout g = roberta_layout("t5");
    g.general_name = "camembert";
    return g;
  }();
  return &layout;
}

}  // namespace

Family family_roberta() {
  return encoder_family(
      {.name = "roberta",
       .model_types = {{"roberta", "Roberta", kUsualRoberta, {"query", "value"}, gguf_of_roberta()},
                       {"xlm-roberta",
                        "XLMRoberta",
                        kUsualXlmRoberta,
                        {"query", "value"},
                        gguf_of_xlm_roberta()},
                       {"camembert", "Camembert", kUsualXlmRoberta, {}, gguf_of_camembert()}},
       .read_config = read_roberta_config,
       .body = roberta_body,
       .head = roberta_head,
       .count_positions = number_tokens_of_text},
      {.decoder = kRobertaDecoder, .multiple_choice = true});
}

}  // namespace hone
