// One projection for queries, keys and values, whose rows go by key/value head: the queries that
// share it, the key, the value (GPT-NeoX, BLOOM, Falcon). And ALiBi, positions as biases of scores.
#pragma once

#include "learn/models/family.h"

namespace hone {

struct QueriesKeysValues {
  ValueId q, k, v;  // [T,H*D], [T,G*D], [T,G*D]
};
// qkv [T,(H+2G)*D], sizes of g.config.
QueriesKeysValues split_by_group(ModelGraph& g, ValueId qkv);

// bias[h, r] = scale slope_h (distance of key and query), as ModelGraph::self_attention takes it
// (arXiv 2108.12409). Declares the table alibi.slopes [H].
ValueId alibi_bias(ModelGraph& g, double scale = 1);

}  // namespace hone
