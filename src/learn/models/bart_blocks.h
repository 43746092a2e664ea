// What the encoder-decoders of BART's kind share: attention and MLP blocks with layer norms, one
// stack over the source, one over the target that also looks at the source's. Linear weights are
// [out, in]. How a family differs from that is a BartStyle.
#pragma once

#include "learn/models/family.h"

namespace hone {

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
};

// Sizes and activation; one vocabulary is taken for both sides.
Status read_bart_config(ModelConfig& c);
// The padding and the start token, with what stands for an absent key.
Status read_bart_tokens(ModelConfig& c, int64_t padding, int64_t start);

// Every weight but the embeddings and the head, which differ most, then final_logits_bias.
void add_bart_params(const ModelConfig& c, const BartStyle& style, std::vector<ParamSpec>& list);
ParamSpec bart_embedding(const ModelConfig& c, const std::string& name, int64_t rows);
ParamSpec bart_head_weight(const ModelConfig& c, const std::string& name);
std::vector<ConstantTable> bart_constants(const ModelConfig& c, const BartStyle& style);

ValueId bart_encoder(ModelGraph& g, const BartStyle& style);  // -> [Te,C]
ValueId bart_decoder(ModelGraph& g, const BartStyle& style);  // -> [Td,C]
CrossKeys bart_cross_keys(ModelGraph& g, int64_t layer);
HeadLayer bart_head(ModelGraph& g, ValueId hidden, const BartStyle& style);

// The other weights of a tie, and names without the prefix of the model with a head.
std::vector<std::string> bart_other_names(const BartStyle& style, const std::string& name);

// The family with everything that its style decides.
template <BartStyle (*kStyle)(const ModelConfig& c)>
Family bart_family(Family f) {
  f.constants = [](const ModelConfig& c) { return bart_constants(c, kStyle(c)); };
  f.body = [](ModelGraph& g) { return bart_decoder(g, kStyle(g.config)); };
  f.head = [](ModelGraph& g, ValueId hidden) { return bart_head(g, hidden, kStyle(g.config)); };
  f.other_names = [](const ModelConfig& c, const std::string& name) {
    return bart_other_names(kStyle(c), name);
  };
  f.encoder = [](ModelGraph& g) { return bart_encoder(g, kStyle(g.config)); };
  f.cross_keys = bart_cross_keys;
  return f;
}

}  // namespace hone
