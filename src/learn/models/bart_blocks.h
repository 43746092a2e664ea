// Shared parts of BART-like encoder-decoders: attention and MLP blocks with layer norms, one stack
// over the source, one over the target that also attends to the source's. Linear weights are [out,
// in]. A BartStyle describes the differences of a family.
#pragma once

#include "learn/models/family.h"

namespace hone {

// The embedding of both sides, where they have one.
inline constexpr const char* kSharedTable = "model.shared.weight";

struct BartStyle {
  // Norms come before the sublayers, and one more ends each stack; or after them.
  bool pre_norm = false;
  bool embedding_norm = true;  // layernorm_embedding
  enum class Positions {
    learned,  // weights; position p is row p + 2, as fairseq counts
    kept,     // sinusoids that the checkpoint holds; never trained
    made,     // sinusoids that hone makes
  } positions = Positions::learned;
  // Names of the weights; the same one where they are tied.
  std::string source_embedding, target_embedding, head;
  // Declares them, in the order of the checkpoint, with bart_table and bart_head_matrix.
  void (*declare_tables)(ModelGraph& g, const BartStyle& style) = nullptr;
};

// Sizes and activation; one vocabulary is taken for both sides.
Status read_bart_config(ModelConfig& c);
// The padding and the start token, with the defaults of absent keys.
Status read_bart_tokens(ModelConfig& c, int64_t padding, int64_t start);

// An embedding [rows,C], and a head [V,C] that is tied to none. A tied one has the names of all
// its roles.
void bart_table(ModelGraph& g, const BartStyle& style, const std::string& name, int64_t rows,
                bool trained = true);
void bart_head_matrix(ModelGraph& g, const BartStyle& style);

ValueId bart_encoder(ModelGraph& g, const BartStyle& style);  // -> [Te,C]
ValueId bart_decoder(ModelGraph& g, const BartStyle& style);  // -> [Td,C]
CrossKeys bart_cross_keys(ModelGraph& g, int64_t layer);
HeadLayer bart_head(ModelGraph& g, ValueId hidden, const BartStyle& style);
// The classifier of BART and T5, hidden [S,C]: a tanh layer between two dropouts.
HeadLayer dense_classifier(ModelGraph& g, ValueId hidden, double dropout, double std);

// The family with everything that its style decides.
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
