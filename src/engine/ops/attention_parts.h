// Shared parts of the decompositions of attention and attention_grad. Packed: the tokens of all segments (sequences)
// are rows of one tensor; segment s has the rows cu[s] to cu[s + 1] - 1. Accumulation type: wide() of support.h, which
// is f32 for bf16 and f16, else the type itself.
#pragma once

#include "engine/ops/support.h"

namespace hone {

struct AttentionDims {
  // The numbers of packed queries and keys. If paged, tk = segments * columns of block_table * page size.
  int64_t tq = 0, tk = 0;
  // The number of heads of queries, the number of heads of keys and values, and the size of a head.
  int64_t heads = 1, kv_heads = 1, size = 0, segments = 0;
  int64_t reach = 0;       // operand `bias` has 2 * reach - 1 columns (distances); 0: no bias
  int64_t first_head = 0;  // head h of the node has the dropout mask of head first_head + h
  // fused: q holds queries, keys and values; k and v are absent. paged: k and v are pages of a KV cache, and operand
  // block_table is present.
  bool fused = false, paged = false;
  DType dtype = DType::f32;  // of q, k and v
};

// The attributes of attention, which attention_grad has too.
std::vector<AttrSpec> attention_attrs();
// Checks the operands that attention and attention_grad share: q, k, v (fused: q alone), cu_q, cu_k, block_table, rng,
// sample_ids, bias. H1203: operands do not fit.
Result<AttentionDims> attention_dims(const NodeView& n);

// The cost of `products` matrix products of queries and keys. It assumes that segments have equal numbers of keys and
// that each query sees all keys of its segment, or half of them if the node is causal and Tq = Tk.
Cost attention_cost(const NodeView& n, double products);

// Values of the decomposition. H: heads, D: size of a head, Tq and Tk: packed queries and keys. Floats have the
// accumulation type.
struct AttentionParts {
  AttentionDims dims;
  // q [H,Tq,D]; k, v [H,Tk,D], in which each key/value head is repeated for each head of queries that uses it.
  ValueId q, k, v;
  ValueId scores;             // cap(scale * q k^T) + bias, [H,Tq,Tk]
  ValueId capped = kNoValue;  // tanh(scale * q k^T / softcap), [H,Tq,Tk]; kNoValue: no softcap
  // i32[Tq*Tk]: for each pair of a query and a key, its column of the bias; < 0: the pair is not allowed. kNoValue:
  // there is no bias.
  ValueId distances = kNoValue;
  ValueId allowed;          // bool [H,Tq,Tk]: the segments, causal and the window allow the pair
  ValueId keep = kNoValue;  // dropout's mask, bool [H,Tq,Tk]; kNoValue: no dropout
};
// Emits the values. Operands that do not fit are a Bug.
AttentionParts attention_parts(Builder& b, const NodeView& n);

// The decomposition "by_row_gather" of attention: pads each segment to a row of its own.
Values attention_by_row(Builder& b, const NodeView& n);
// Maps `count` packed tokens to a padded grid [segments, width]: i32[count], segment * width + index in the segment. A
// token past the last segment has -1.
ValueId packed_places(Builder& b, ValueId cu, int64_t count, int64_t segments, int64_t width);

// All pairs (i, j) of `count` = T packed tokens. together bool[T,T]: i and j are in the same segment. distance
// i32[T,T]: the position of i minus the position of j; it has a meaning only if `together` is true.
struct PackedPairs {
  ValueId distance, together;
};
PackedPairs packed_pairs(Builder& b, ValueId cu, int64_t count, int64_t segments);

// The softmax over the allowed keys: p [..,Tk] the probabilities, lse [..] the log-sum-exp of the allowed scores. A row
// without an allowed key has p = 0 and lse = -inf.
struct KeyShares {
  ValueId p, lse;
};
// scores [..,Tk], allowed bool of the same shape.
KeyShares shares_of_keys(Builder& b, ValueId scores, ValueId allowed);
// Computes KeyShares::p again from the scores and the log-sum-exp that shares_of_keys() returned.
ValueId shares_again(Builder& b, ValueId scores, ValueId allowed, ValueId lse);
// Broadcasts x [..], one number for each query, over the keys to the shape `pairs` [..,Tk].
ValueId over_keys(Builder& b, ValueId x, const Shape& pairs);

// Dropout of heads `first` to `first + heads - 1` of an attention that may have more heads.
struct DropHeads {
  ValueId rng = kNoValue, sample_ids = kNoValue;  // those of ops::attention_dropout_mask()
  double p = 0;                                   // probability of dropping
  std::string key;                                // names the place in the model, for random keys
  int64_t first = 0, heads = 0;
};
// The masks of these heads, bool [heads, Tq, keys]; true: the element is kept.
ValueId mask_of_heads(Builder& b, const DropHeads& drop, ValueId cu_q, ValueId cu_k, int64_t keys);
// Applies a dropout mask: keep ? x / (1 - p) : 0. Returns x if `keep` is kNoValue.
ValueId dropped(Builder& b, ValueId keep, ValueId x, double p);

ValueId split_heads(Builder& b, ValueId x, int64_t heads);  // [T,H*D] -> [H,T,D]
ValueId join_heads(Builder& b, ValueId x);                  // [H,T,D] -> [T,H*D]

}  // namespace hone
