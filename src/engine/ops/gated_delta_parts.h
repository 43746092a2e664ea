// Shared parts of gated_delta_rule and its gradient.
#pragma once

#include "engine/ops/support.h"

namespace hone {

struct DeltaRuleDims {
  int64_t tokens = 0, heads = 0, key_heads = 0, segments = 0;
  int64_t keys = 0, values = 0;  // the size of a head of keys and of a head of values
  int64_t state() const { return heads * keys * values; }
};

std::vector<AttrSpec> gated_delta_attrs();
// Checks the operands that both have: q, k, v, decay, beta, cu.
Result<DeltaRuleDims> gated_delta_dims(const NodeView& n);

}  // namespace hone
