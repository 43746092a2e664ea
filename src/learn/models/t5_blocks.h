// The stacks of T5 (t5.cc, t5_encoder.cc), and what config.json says of them.
#pragma once

#include "learn/models/family.h"

namespace hone {

inline constexpr const char* kT5Head = "lm_head.weight";
inline constexpr const char* kT5Body = "transformer.";  // before the body's names in a classifier

bool t5_is_classifier(const ModelConfig& c);
// The name of a weight of the body, in a model with this head.
std::string t5_name(const ModelConfig& c, const std::string& name);
int64_t t5_layers(const ModelConfig& c, bool encoder);
int64_t t5_inner(const ModelConfig& c);
int64_t t5_buckets(const ModelConfig& c);
int64_t t5_max_distance(const ModelConfig& c);
// feed_forward_proj is "ACT" or "gated-ACT"; "gated-gelu" means the tanh form.
struct T5FeedForward {
  bool gated = false;
  std::string act;
};
T5FeedForward t5_feed_forward(const ModelConfig& c);
// The first T5 divides what goes into the head by sqrt(d_model); 1.1 does not, which older configs
// say by tie_word_embeddings alone. mT5 never does.
bool t5_scales_head(const ModelConfig& c);

// H2302, H2303. `encoder_alone`: the model has no decoder.
Status read_t5_config(ModelConfig& c, bool encoder_alone);
// The table of words.
ValueId t5_words(ModelGraph& g);
// -> [T,C] of g.ids.
ValueId t5_encoder(ModelGraph& g);
ValueId t5_decoder(ModelGraph& g);
CrossKeys t5_cross_keys(ModelGraph& g, int64_t layer);

}  // namespace hone
