// Shared parts of encoders with rotary positions (Su et al. 2021, arXiv 2104.09864): one fused layer
// of queries, keys and values, and gated MLPs (Shazeer 2020, arXiv 2002.05202).
#pragma once

#include "learn/models/encoder.h"

namespace hone {

// The base of the rotation: config.json's rope_parameters.rope_theta, or `key`, or `usual`. H2302
// if it is not positive, H2303 if rope_parameters or rope_scaling say another kind than default or
// `more`.
Result<double> read_rotary_theta(const ModelConfig& c, const std::string& key, double usual,
                                 const std::string& more = "");
// theta^(-2i/D), the frequency of each pair; f32 as Transformers computes it.
std::vector<float> rotary_frequencies(double theta, int64_t head_dim);
// H2302 unless heads have pairs of channels.
Status check_pairs(const ModelConfig& c);

// H2303 if the activation of the MLP does not gate.
Status check_gated_activation(const ModelConfig& c, const EncoderStyle& style);

struct RotaryAttention {
  ValueId frequencies = kNoValue;  // f32[D/2]
  bool bias = false;               // of the fused layer
  double dropout = 0;
  int64_t window = 0;  // keys at most window - 1 places away; 0: all
};
// Attention by the fused layer `at`.weight [3C,C]: queries, keys, values; x [T,C] -> [T,C].
ValueId rotary_attention(ModelGraph& g, int64_t layer, const std::string& at, ValueId x,
                         const RotaryAttention& o);
// The halves of the columns of x [N,2F].
std::pair<ValueId, ValueId> halves(ModelGraph& g, ValueId x);

}  // namespace hone
