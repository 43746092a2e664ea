// The weights of Megatron-LM's GPT models under the names of Transformers: parts of tensor-parallel ranks joined, the
// fused projections of queries, keys and values taken apart. Layouts after megatron/core/transformer/attention.py and
// mlp.py, names after megatron/core and the older megatron/model.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "learn/checkpoint/imports/piece_weights.h"

namespace hone {

// The arguments of the run that decide the layout.
struct MegatronShape {
  bool llama = false;  // rotary positions, gated MLPs and RMS norms; else GPT-2
  int64_t heads = 1, groups = 1, head_dim = 1;
};

// The place of a weight in the model, such as "fc1.weight" of layer 3; layer < 0: outside the layers.
struct MegatronWeight {
  int64_t layer = -1;
  std::string part;  // input_norm, qkv, proj, mlp_norm, fc1, fc2, words, positions, last_norm, head
  std::string leaf;  // weight, bias
};
// nullopt: no weight of such a model has that name.
std::optional<MegatronWeight> megatron_weight(std::string_view name);

// A tensor of one rank.
struct RankTensor {
  const WeightSource* source;
  std::string name;
};

// Adds the weights of Transformers that the ranks' parts of a weight make, each with `prefix` in front of its name. In
// GPT-2's projections rows are outputs, as in the parts: see is_transposed. "": done; else the fault: shapes that
// do not fit.
std::string add_megatron_weight(const MegatronShape& shape, const MegatronWeight& weight,
                                const std::vector<RankTensor>& ranks, const std::string& prefix,
                                PieceWeights& to);
// Whether Transformers keeps that weight as [in,out].
bool is_transposed(const MegatronShape& shape, std::string_view name);
// Tables that may have more rows than the vocabulary.
bool is_padded_table(const MegatronShape& shape, std::string_view name);

}  // namespace hone
