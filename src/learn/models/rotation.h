// Rotary position embeddings, RoPE (arXiv 2104.09864), as config.json describes them: computes the frequencies for
// each rope_type, and rotates queries and keys.
#pragma once

#include "learn/models/family.h"

namespace hone {

// The family's part of the description; the rest is in config.json.
struct RotationStyle {
  // theta: the base of the frequencies. share: the share of a head's channels that is rotated. Both are defaults, for a
  // config.json without the keys theta_key and share_key.
  double theta = 10000, share = 1;
  const char* theta_key = "rope_theta";
  const char* share_key = "partial_rotary_factor";
  // true: the two channels of a pair that is rotated are neighbors; false: their distance is half the number of rotated
  // channels.
  bool interleaved = false;
  // Not nullptr: layers with a sliding window have other frequencies. Their base is in this config.json key or in
  // rope_parameters.sliding_attention; else it is local_theta.
  const char* local_theta_key = nullptr;
  double local_theta = 10000;
  int64_t head_dim = 0;  // head size of the layers without a window; 0: as in the config
};

// H2302: the RoPE parameters in config.json are not valid. H2303: hone does not support them.
Status check_rotation(const ModelConfig& c, const RotationStyle& style);
// The RoPE parameters of the layers without a window; `local` true: of the layers with a window. They have the form of
// rope_parameters in Transformers 5; rope_type, rope_theta and partial_rotary_factor are always present.
nlohmann::json rope_parameters(const ModelConfig& c, const RotationStyle& style,
                               bool local = false);

// The number by which sines and cosines are multiplied (rope_types "yarn" and "longrope"); 1 for other types.
// `parameters`: rope_parameters().
double rope_scaling(const ModelConfig& c, const nlohmann::json& parameters);

class Rotation {
 public:
  // Declares the tables of frequencies: rope.inv_freq, for longrope rope.long_inv_freq, for layers with a window
  // rope.local_inv_freq.
  Rotation(ModelGraph& g, const RotationStyle& style);
  // Rotates x [T,heads*D] by the tokens' positions. `local`: the layer has a window.
  ValueId turn(ValueId x, int64_t heads, bool local = false) const;
  // Multiplies q [T,heads*D] by 1 + beta log(1 + floor(position / original)), as Llama 4 does for long texts. beta:
  // rope_parameters.llama_4_scaling_beta; original: original_max_position_embeddings.
  ValueId scale_queries(ValueId q) const;

 private:
  ValueId with(ValueId frequencies, double scaling, ValueId x, int64_t heads) const;
  ValueId rows_of_long_texts(int64_t width) const;

  ModelGraph& g_;
  const RotationStyle style_;
  ValueId usual_ = kNoValue, long_ = kNoValue, local_ = kNoValue;
  double scaling_ = 1, local_scaling_ = 1;
  // longrope and yarn: the longest text, in tokens, before the model was extended to longer texts; 0: other types.
  int64_t original_ = 0;
};

}  // namespace hone
