// What the decompositions of attention and attention_grad share.
#pragma once

#include "engine/ops/support.h"

namespace hone {

struct AttentionDims {
  int64_t tq = 0, tk = 0;  // packed queries and keys; paged: S * B * page key slots
  int64_t heads = 1, kv_heads = 1, size = 0, segments = 0;
  int64_t reach = 0;  // the bias has 2 * reach - 1 distances; 0: no bias
  bool fused = false, paged = false;
  DType dtype = DType::f32;
};

// Operands 0, 1, 2 are q, k, v (fused: q alone); from `first` on: cu_q, cu_k, block_table, rng,
// sample_ids, bias. Checks them all.
Result<AttentionDims> attention_dims(const NodeView& n, size_t first);

struct AttentionParts {
  AttentionDims dims;
  ValueId q, k, v;               // [H,Tq,D], [H,Tk,D]: kv heads repeated, in the wide type
  ValueId scores;                // scale * q k^T + bias, [H,Tq,Tk]
  ValueId distances = kNoValue;  // i32[Tq*Tk]: the column of the bias; < 0: no allowed pair
  ValueId allowed;               // bool [H,Tq,Tk]: one segment, causal, window
  ValueId keep = kNoValue;       // dropout's mask, bool [H,Tq,Tk]
};
AttentionParts attention_parts(Builder& b, const NodeView& n, size_t first);

ValueId split_heads(Builder& b, ValueId x, int64_t heads);               // [T,H*D] -> [H,T,D]
ValueId join_heads(Builder& b, ValueId x);                               // [H,T,D] -> [T,H*D]
ValueId drop(Builder& b, const AttentionParts& a, ValueId x, double p);  // keep ? x/(1-p) : 0

}  // namespace hone
