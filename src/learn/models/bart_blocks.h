// Shared parts of encoder-decoders such as BART: an encoder over the source, and a decoder over the target that also
// attends to the encoder's output. Their layers are attention and an MLP with layer norms. Linear weights are [out,
// in]. A BartStyle describes the differences between families. Letters are those of graph.h; Te and Td are the tokens
// of the encoder and of the decoder.
#pragma once

#include "learn/models/family.h"

namespace hone {

// The name of the embedding, if encoder and decoder share one.
inline constexpr const char* kSharedTable = "model.shared.weight";

struct BartStyle {
  // true: layer norms are before attention and MLP, and each stack of layers ends with a further layer norm. false:
  // layer norms are after the residual sums.
  bool pre_norm = false;
  bool embedding_norm = true;  // layernorm_embedding: a layer norm after the embedding
  enum class Positions {
    learned,  // trained weights; position p is row p + 2, as in fairseq
    kept,     // sinusoids that the checkpoint holds; not trained
    made,     // sinusoids that hone computes
  } positions = Positions::learned;
  // Names of the weights of the encoder's embedding, the decoder's embedding and the head. Tied weights have the same
  // name.
  std::string source_embedding, target_embedding, head;
  // Declares these weights in the order of the checkpoint, by bart_table() and bart_head_matrix().
  void (*declare_tables)(ModelGraph& g, const BartStyle& style) = nullptr;
};

// Reads the sizes and checks the activation. Encoder and decoder get the same vocabulary size. H2302: a value is not
// valid. H2303: the activation is not supported.
Status read_bart_config(ModelConfig& c);
// Reads pad_token_id and decoder_start_token_id. `padding`, `start`: their values if the keys are absent. H2302: a
// value is not valid.
Status read_bart_tokens(ModelConfig& c, int64_t padding, int64_t start);

// Declares an embedding [rows,C]. If it is tied, a checkpoint may have it under the name of any of its roles.
void bart_table(ModelGraph& g, const BartStyle& style, const std::string& name, int64_t rows,
                bool trained = true);
// Declares a head [V,C] that is not tied.
void bart_head_matrix(ModelGraph& g, const BartStyle& style);

ValueId bart_encoder(ModelGraph& g, const BartStyle& style);  // -> [Te,C]
ValueId bart_decoder(ModelGraph& g, const BartStyle& style);  // -> [Td,C]
CrossKeys bart_cross_keys(ModelGraph& g, int64_t layer);      // Family::cross_keys
HeadLayer bart_head(ModelGraph& g, ValueId hidden, const BartStyle& style);
// The classifier of BART and T5, hidden [S,C]: dropout, a linear layer with tanh, dropout, the output layer. `std`:
// standard deviation of the initial weights.
HeadLayer dense_classifier(ModelGraph& g, ValueId hidden, double dropout, double std);

// Adds to `f` everything that follows from the style.
template <BartStyle (*kStyle)(const ModelConfig& c)>
Family bart_family(Family f) {
  f.body = [](ModelGraph& g) { return bart_decoder(g, kStyle(g.config)); };
  f.head = [](ModelGraph& g, ValueId hidden) { return bart_head(g, hidden, kStyle(g.config)); };
  f.dropouts = {"dropout", "attention_dropout", "activation_dropout", "classifier_dropout"};
  f.body_prefix = "model.";
  f.unread = {"embed_positions.weight", "encoder.version", "decoder.version"};
  f.encoder = [](ModelGraph& g) { return bart_encoder(g, kStyle(g.config)); };
  f.cross_keys = bart_cross_keys;
  f.separate_head = "lm_head.weight";
  f.module_order = {{"shared", "encoder", "decoder", "embed_tokens", "embed_positions", "k_proj",
                     "v_proj", "q_proj", "self_attn", "self_attn_layer_norm", "encoder_attn",
                     "encoder_attn_layer_norm", "fc1", "fc2", "final_layer_norm", "layers",
                     "layernorm_embedding"}};
  return f;
}

}  // namespace hone
