// Shared parts of encoders with rotary positions (Su et al. 2021, arXiv 2104.09864). They have one fused layer for
// queries, keys and values, and gated MLPs (Shazeer 2020, arXiv 2002.05202).
#pragma once

#include "learn/models/encoder.h"

namespace hone {

// The base theta of the rotary frequencies. It comes from the first of these that config.json has: rope_theta in
// rope_parameters or rope_scaling, then the key `key`. It is `usual` if config.json has none of them. H2302: it is not
// positive, or rope_parameters or rope_scaling is not an object. H2303: the rope_type in one of these objects is
// neither "default" nor `more`.
Result<double> read_rotary_theta(const ModelConfig& c, const std::string& key, double usual,
                                 const std::string& more = "");
// The frequency theta^(-2i/head_dim) of each pair of channels i, computed in f32 as in Transformers.
std::vector<float> rotary_frequencies(double theta, int64_t head_dim);
// H2302: the head size is odd.
Status check_pairs(const ModelConfig& c);

// H2303: the activation cannot be used in a gated MLP: "tanh" or "linear".
Status check_gated_activation(const ModelConfig& c, const EncoderStyle& style);

struct RotaryAttention {
  ValueId frequencies = kNoValue;  // f32[D/2]
  bool bias = false;               // the fused layer has a bias
  double dropout = 0;
  int64_t window = 0;  // a token attends to keys at most window - 1 tokens away; 0: to all
};
// Attention without its output layer, x [T,C] -> [T,C]. `at`: the name of the fused layer; the rows of its weight
// [3C,C] are those of queries, keys and values.
ValueId rotary_attention(ModelGraph& g, int64_t layer, const std::string& at, ValueId x,
                         const RotaryAttention& o);
// The first F columns of x [N,2F], and the last F.
std::pair<ValueId, ValueId> halves(ModelGraph& g, ValueId x);

}  // namespace hone
