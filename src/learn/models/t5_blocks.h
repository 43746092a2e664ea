// The encoder and the decoder of T5 (used by t5.cc and t5_encoder.cc), and access to T5's keys in config.json.
#pragma once

#include "learn/models/family.h"

namespace hone {

inline constexpr const char* kT5Head = "lm_head.weight";
// The prefix of the body's names in a model that classifies sequences; other models have none.
inline constexpr const char* kT5Body = "transformer.";

bool t5_is_classifier(const ModelConfig& c);  // the head classifies sequences
// The name of a weight of the body, with kT5Body if the model has it.
std::string t5_name(const ModelConfig& c, const std::string& name);
// The number of layers of the encoder (true) or of the decoder (false).
int64_t t5_layers(const ModelConfig& c, bool encoder);
int64_t t5_inner(const ModelConfig& c);         // d_ff
int64_t t5_buckets(const ModelConfig& c);       // relative_attention_num_buckets
int64_t t5_max_distance(const ModelConfig& c);  // relative_attention_max_distance
// The value of feed_forward_proj, "ACT" or "gated-ACT". "gated-gelu" means GELU in its tanh form, "gelu_new".
struct T5FeedForward {
  bool gated = false;
  std::string act;
};
T5FeedForward t5_feed_forward(const ModelConfig& c);
// Whether the decoder's output is divided by sqrt(d_model) before the head. T5 1.0 does this; T5 1.1 and mT5 do not. In
// older configs, only tie_word_embeddings shows whether the output is divided.
bool t5_scales_head(const ModelConfig& c);

// Reads and checks config.json. `encoder_alone`: the model has no decoder. H2302: a value is not valid. H2303: a value
// is not supported.
Status read_t5_config(ModelConfig& c, bool encoder_alone);
// The word embedding [V,C].
ValueId t5_words(ModelGraph& g);
// Each builds its stack of layers for g.ids -> [T,C]. The encoder is called by ModelGraph::encode().
ValueId t5_encoder(ModelGraph& g);
ValueId t5_decoder(ModelGraph& g);
CrossKeys t5_cross_keys(ModelGraph& g, int64_t layer);

}  // namespace hone
