// Converts the weights of Megatron-LM's GPT models to the names and shapes of Transformers: joins the parts of
// tensor-parallel ranks, and splits the fused projections of queries, keys and values. References for the layouts:
// megatron/core/transformer/attention.py and mlp.py; for the names: megatron/core and the older megatron/model.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "learn/checkpoint/imports/piece_weights.h"

namespace hone {

// The arguments of the training run on which the layout depends.
struct MegatronShape {
  bool llama = false;  // rotary positions, gated MLPs and RMS norms, as Llama; false: as GPT-2
  // heads: number of attention heads. groups: number of groups of heads that share a key and a value. head_dim: size of
  // a head.
  int64_t heads = 1, groups = 1, head_dim = 1;
};

// The role of a weight in the model, such as "fc1" "weight" of layer 3.
struct MegatronWeight {
  int64_t layer = -1;  // -1: outside the layers
  std::string part;  // input_norm, qkv, proj, mlp_norm, fc1, fc2, words, positions, last_norm, head
  std::string leaf;  // weight, bias
};
// The role of the weight with this name in Megatron; nullopt: these models have no such weight.
std::optional<MegatronWeight> megatron_weight(std::string_view name);

// A tensor in the file of one rank.
struct RankTensor {
  const WeightSource* source;
  std::string name;
};

// Makes Transformers' weights from the parts that the ranks (in their order) have of one weight, and adds them to
// `to`, with `prefix` in front of their names. A fused "qkv" of a Llama becomes three weights. Matrices stay [out,in],
// even if Transformers keeps them as [in,out] (is_transposed). Returns "", or the fault, such as shapes that do not
// fit.
std::string add_megatron_weight(const MegatronShape& shape, const MegatronWeight& weight,
                                const std::vector<RankTensor>& ranks, const std::string& prefix,
                                PieceWeights& to);
// Whether Transformers keeps the weight `name` (Transformers' name) as [in,out].
bool is_transposed(const MegatronShape& shape, std::string_view name);
// Whether the weight `name` (Transformers' name) may have more rows than the vocabulary, because Megatron pads it.
bool is_padded_table(const MegatronShape& shape, std::string_view name);

}  // namespace hone
