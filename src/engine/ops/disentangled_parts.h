// Shared parts of disentangled_attention and disentangled_attention_grad (DeBERTa; ops.h has the operands).
#pragma once

#include "engine/ops/attention_parts.h"

namespace hone {

struct DisentangledDims {
  int64_t tokens = 0, heads = 1, size = 0, segments = 0;  // size: of a head
  // rows (R): rows of position_keys and of position_queries. row_of has 2 * reach - 1 distances.
  int64_t rows = 0, reach = 0;
  int64_t first_head = 0;  // head h of the node has the dropout mask of head first_head + h
};

std::vector<AttrSpec> disentangled_attrs();
// Checks the operands that both ops have: q, k, v, position_keys?, position_queries?, row_of, cu, rng?,
// sample_ids?. H1203: they do not fit.
Result<DisentangledDims> disentangled_dims(const NodeView& n);

// Values of the decomposition. H: heads, T: tokens, D: size of a head, R: rows. Floats are f32 (f64 if q is).
struct DisentangledParts {
  DisentangledDims dims;
  ValueId q, k, v;                                                // [H,T,D]
  ValueId position_keys = kNoValue, position_queries = kNoValue;  // [H,R,D]; kNoValue: absent
  // i32[T*T], an index for each pair of a query and a key: by_query is query * R + row, by_key is key * R + row. row is
  // row_of's entry for the pair's distance. -1: the two are not in one segment. by_query is kNoValue without
  // position_keys, by_key without position_queries.
  ValueId by_query = kNoValue, by_key = kNoValue;
  ValueId scores;           // [H,T,T]: scaled
  ValueId allowed;          // bool [H,T,T]: query and key are in one segment
  ValueId keep = kNoValue;  // dropout's mask, bool [H,T,T]; kNoValue: no dropout
};
// Emits the values. Operands that do not fit are a Bug.
DisentangledParts disentangled_parts(Builder& b, const NodeView& n);
// Adds the elements of x [H,T,T] whose entries in `places` (by_query or by_key) are equal -> [H,T,R]. This is the
// gradient of the products [H,T,R] that were looked up by `places`.
ValueId sums_by_place(Builder& b, const DisentangledDims& d, ValueId places, ValueId x);

}  // namespace hone
