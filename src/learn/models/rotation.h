// Rotary positions (arXiv 2104.09864) as config.json describes them: frequencies by rope_type, and
// the rotation of queries and keys.
#pragma once

#include "learn/models/family.h"

namespace hone {

// The form of a family's rotation, beside what config.json says.
struct RotationStyle {
  double theta = 10000, share = 1;  // for a config without these keys
  const char* theta_key = "rope_theta";
  const char* share_key = "partial_rotary_factor";  // the share of a head that turns
  bool interleaved = false;  // the pairs of a head are neighbours; else they are half a head apart
  // Layers with a window have frequencies of their own: by this key of config.json, or by
  // rope_parameters.sliding_attention. nullptr: all layers have the same.
  const char* local_theta_key = nullptr;
  double local_theta = 10000;
  int64_t head_dim = 0;  // of the layers without a window; 0: the config's
};

// H2302, H2303: the form of the rotation is invalid, or hone does not have it.
Status check_rotation(const ModelConfig& c, const RotationStyle& style);
// The parameters of the layers without a window, or of those with one: rope_type, rope_theta and
// partial_rotary_factor are always there.
nlohmann::json rope_parameters(const ModelConfig& c, const RotationStyle& style,
                               bool local = false);

// The factor of sines and cosines with these parameters.
double rope_scaling(const ModelConfig& c, const nlohmann::json& parameters);

class Rotation {
 public:
  // Declares the tables of frequencies: rope.inv_freq and as needed rope.long_inv_freq and
  // rope.local_inv_freq.
  Rotation(ModelGraph& g, const RotationStyle& style);
  // x [T,heads*D] turned. `local`: with the frequencies of layers with a window.
  ValueId turn(ValueId x, int64_t heads, bool local = false) const;
  // q [T,heads*D] times 1 + beta log(1 + floor(position / original length)), as Llama 4 scales the
  // queries of long texts; beta is rope_parameters.llama_4_scaling_beta.
  ValueId scale_queries(ValueId q) const;

 private:
  ValueId with(ValueId frequencies, double scaling, ValueId x, int64_t heads) const;
  ValueId rows_of_long_texts(int64_t width) const;

  ModelGraph& g_;
  const RotationStyle style_;
  ValueId usual_ = kNoValue, long_ = kNoValue, local_ = kNoValue;
  double scaling_ = 1, local_scaling_ = 1;
  int64_t original_ = 0;  // longest text before the scaling of longrope and yarn; 0: other types
};

}  // namespace hone
