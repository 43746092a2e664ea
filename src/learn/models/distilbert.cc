// DistilBERT (Sanh et al. 2019, arXiv 1910.01108): BERT's encoder without token types and pooler,
// with keys and names of its own; classifiers of sequences read the first token through a linear
// layer and relu.
#include "learn/models/activations.h"
#include "learn/models/encoder.h"
#include "learn/models/encoder_gguf.h"

namespace hone {
namespace {

// Defaults of Transformers' config class.
constexpr const char* kUsualDistilBert =
    R"({"vocab_size": 30522, "max_position_embeddings": 512, "sinusoidal_pos_embds": false,
    "n_layers": 6, "n_heads": 12, "dim": 768, "hidden_dim": 3072, "dropout": 0.1,
    "attention_dropout": 0.1, "activation": "gelu", "initializer_range": 0.02, "qa_dropout": 0.1,
    "seq_classif_dropout": 0.2, "pad_token_id": 0, "bos_token_id": null, "eos_token_id": null,
    "tie_word_embeddings": true})";

EncoderStyle distilbert_style() {
  return {.decoder = "vocab_projector.weight",
          .keys = {.hidden = "dim",
                   .layers = "n_layers",
                   .heads = "n_heads",
                   .inner = "hidden_dim",
                   .act = "activation",
                   .dropout = "dropout",
                   .attention_dropout = "attention_dropout",
                   .classifier_dropout = "seq_classif_dropout"},
          .names = {.query = "attention.q_lin",
                    .key = "attention.k_lin",
                    .value = "attention.v_lin",
                    .attended = "attention.out_lin",
                    .attended_norm = "sa_layer_norm",
                    .up = "ffn.lin1",
                    .down = "ffn.lin2",
                    .norm = "output_layer_norm"},
          .token_types = false,
          .layers = "transformer.layer.",
          .multiple_choice = true};
}

HeadLayer distilbert_head(ModelGraph& g, ValueId x) {
  const ModelConfig& c = g.config;
  const EncoderStyle style = distilbert_style();
  g.of_head = true;
  if (c.head == Head::masked_lm) {
    x = encoder_transform(g, "vocab_transform", "vocab_layer_norm", x, hidden_act_of(c, style));
    const ValueId matrix = encoder_decoder_matrix(g, style);
    return {x, matrix, g.zeros("vocab_projector.bias", c.vocab)};
  }
  if (c.head == Head::token_classification)
    return encoder_classifier(g, "classifier", g.dropout(x, c.real("dropout", 0.1)));
  x = g.linear("pre_classifier", x, c.hidden, {.rows = LinearLayer::Rows::sequences});  // [S,C]
  x = g.dropout_of_sequences(activate(g.b, x, "relu"), c.real("seq_classif_dropout", 0.2));
  return encoder_classifier(g, "classifier", x);
}

std::string distilbert_unwritable(const ModelConfig& c) {
  if (c.head == Head::sequence_classification)
    return "its classifier has relu, where llama.cpp has tanh";
  return encoder_unwritable(c, distilbert_style());
}

const GgufLayout* gguf_of_distilbert() {
  static const GgufLayout layout = [] {
    GgufLayout g = encoder_gguf("bert", "bert", distilbert_style());
    g.lacks = "token_types.weight";
    g.classifier = {{"cls", "pre_classifier"}, {"cls.output", "classifier"}};
    g.unwritable = distilbert_unwritable;
    return g;
  }();
  return &layout;
}

}  // namespace

Family family_distilbert() {
  return encoder_family(
      {.name = "distilbert",
       .model_types = {{"distilbert", "DistilBert", kUsualDistilBert, {}, gguf_of_distilbert()}},
       .read_config = [](ModelConfig& c) { return read_encoder_config(c, distilbert_style()); },
       .body = [](ModelGraph& g) { return encoder_body(g, distilbert_style()); },
       .head = distilbert_head,
       .module_order = std::vector<std::string>()},
      distilbert_style());
}

}  // namespace hone
