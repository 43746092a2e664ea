// Splits the fused projection of GPT-NeoX, BLOOM and Falcon. The projection has, for one key/value head after the
// other, the queries that share this head, its key and its value. Also makes the biases of ALiBi, which encodes
// positions as biases of attention scores.
#pragma once

#include "learn/models/family.h"

namespace hone {

struct QueriesKeysValues {
  ValueId q, k, v;  // [T,H*D], [T,G*D], [T,G*D]
};
// Splits the output of the projection, qkv [T,(H+2G)*D]; H, G and D are those of g.config.
QueriesKeysValues split_by_group(ModelGraph& g, ValueId qkv);

// The bias [H,2*longest()-1] of ALiBi (arXiv 2108.12409) for ModelGraph::self_attention: scale * slope_h * (position
// of the key - position of the query). Declares the table alibi.slopes [H].
ValueId alibi_bias(ModelGraph& g, double scale = 1);

}  // namespace hone
