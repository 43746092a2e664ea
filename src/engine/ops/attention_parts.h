// Shared parts of the decompositions of attention and attention_grad.
#pragma once

#include "engine/ops/support.h"

namespace hone {

struct AttentionDims {
  int64_t tq = 0, tk = 0;  // packed queries and keys; paged: S * B * page key slots
  int64_t heads = 1, kv_heads = 1, size = 0, segments = 0;
  int64_t reach = 0;       // the bias has 2 * reach - 1 distances; 0: no bias
  int64_t first_head = 0;  // number of head 0 in dropout's masks
  bool fused = false, paged = false;
  DType dtype = DType::f32;
};

// The attributes of both.
std::vector<AttrSpec> attention_attrs();
// Checks the operands that both have: q, k, v (fused: q alone), cu_q, cu_k, block_table, rng,
// sample_ids, bias.
Result<AttentionDims> attention_dims(const NodeView& n);

// The cost of `products` products of queries and keys, as if every query saw every key of an evenly split batch; causal
// halves it.
Cost attention_cost(const NodeView& n, double products);

struct AttentionParts {
  AttentionDims dims;
  ValueId q, k, v;               // [H,Tq,D], [H,Tk,D]: kv heads repeated, in the wide type
  ValueId scores;                // cap(scale * q k^T) + bias, [H,Tq,Tk]
  ValueId capped = kNoValue;     // tanh(scale * q k^T / softcap), if there is a softcap
  ValueId distances = kNoValue;  // i32[Tq*Tk]: the column of the bias; < 0: no allowed pair
  ValueId allowed;               // bool [H,Tq,Tk]: one segment, causal, window
  ValueId keep = kNoValue;       // dropout's mask, bool [H,Tq,Tk]
};
AttentionParts attention_parts(Builder& b, const NodeView& n);

// The decomposition "by_row_gather" of attention.
Values attention_by_row(Builder& b, const NodeView& n);
// i32[count]: of each packed token its place when every segment has a row of `width` places; -1
// past the last segment.
ValueId packed_places(Builder& b, ValueId cu, int64_t count, int64_t segments, int64_t width);

// Pairs of `count` packed tokens: how many places the second comes before the first, i32[T,T], where
// both are of one segment, bool[T,T].
struct PackedPairs {
  ValueId distance, together;
};
PackedPairs packed_pairs(Builder& b, ValueId cu, int64_t count, int64_t segments);

// The softmax of scores [..,Tk] over the allowed keys, and its log-sum-exp [..]; no allowed key: 0 and -inf.
struct KeyShares {
  ValueId p, lse;
};
KeyShares shares_of_keys(Builder& b, ValueId scores, ValueId allowed);
// The same shares by the log-sum-exp.
ValueId shares_again(Builder& b, ValueId scores, ValueId allowed, ValueId lse);
// A number for each query, [..] -> [..,Tk] of `pairs`.
ValueId over_keys(Builder& b, ValueId x, const Shape& pairs);

// Dropout of some heads of a larger attention: its mask bool[heads,Tq,keys] of heads first, first + 1, ....
struct DropHeads {
  ValueId rng = kNoValue, sample_ids = kNoValue;
  double p = 0;
  std::string key;
  int64_t first = 0, heads = 0;
};
ValueId mask_of_heads(Builder& b, const DropHeads& drop, ValueId cu_q, ValueId cu_k, int64_t keys);
// keep ? x/(1-p) : 0; x if there is no mask
ValueId dropped(Builder& b, ValueId keep, ValueId x, double p);

ValueId split_heads(Builder& b, ValueId x, int64_t heads);  // [T,H*D] -> [H,T,D]
ValueId join_heads(Builder& b, ValueId x);                  // [H,T,D] -> [T,H*D]

}  // namespace hone
