// Shared parts of disentangled_attention and its gradient.
#pragma once

#include "engine/ops/attention_parts.h"

namespace hone {

struct DisentangledDims {
  int64_t tokens = 0, heads = 1, size = 0, segments = 0;
  int64_t rows = 0, reach = 0;  // of position_keys and position_queries; distances
  int64_t first_head = 0;       // number of head 0 in dropout's masks
};

std::vector<AttrSpec> disentangled_attrs();
// Checks the operands that both have: q, k, v, position_keys?, position_queries?, row_of, cu, rng?,
// sample_ids?.
Result<DisentangledDims> disentangled_dims(const NodeView& n);

struct DisentangledParts {
  DisentangledDims dims;
  ValueId q, k, v;                                                // [H,T,D]
  ValueId position_keys = kNoValue, position_queries = kNoValue;  // [H,R,D]
  ValueId by_query = kNoValue, by_key = kNoValue;  // i32[T*T]: query (key) * R + row; -1: no pair
  ValueId scores;                                  // [H,T,T]
  ValueId allowed;                                 // bool [H,T,T]
  ValueId keep = kNoValue;                         // dropout's mask, bool [H,T,T]
};
DisentangledParts disentangled_parts(Builder& b, const NodeView& n);
// Sums of x [H,T,T] by place, [H,T,R]: the gradient of the products that `places` looked up.
ValueId sums_by_place(Builder& b, const DisentangledDims& d, ValueId places, ValueId x);

}  // namespace hone
