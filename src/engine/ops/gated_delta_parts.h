// Shared parts of gated_delta_rule and gated_delta_rule_grad (ops.h has the operands).
#pragma once

#include "engine/ops/support.h"

namespace hone {

struct DeltaRuleDims {
  // heads: of values. key_heads: of queries and keys.
  int64_t tokens = 0, heads = 0, key_heads = 0, segments = 0;
  int64_t keys = 0, values = 0;  // the size of a head of keys, and the size of a head of values
  // Elements of a segment's state.
  int64_t state() const { return heads * keys * values; }
};

std::vector<AttrSpec> gated_delta_attrs();
// Checks the operands that both ops have: q, k, v, decay, beta, cu. H1203: they do not fit.
Result<DeltaRuleDims> gated_delta_dims(const NodeView& n);

}  // namespace hone
