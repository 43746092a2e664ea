// What the files of the shelf share: checks for infer rules, default costs.
#pragma once

#include "engine/graph/builder.h"
#include "engine/ops/errors.h"
#include "engine/ops/ops.h"

namespace hone {

// "linear: <what>: lhs f32[2,3], ..." with the types of all operands.
Error bad_operands(const NodeView& n, const std::string& what);
Status expect_inputs(const NodeView& n, size_t least, size_t most);
Status expect_rank(const NodeView& n, size_t i, int rank);
Status expect_same(const NodeView& n, size_t i, size_t j);      // equal dtype and shape

Result<Types> same_as_first(const NodeView& n);                 // one float operand -> its type
Cost elementwise(const NodeView& n, double flops_per_element);  // bytes: all operands and results

}  // namespace hone
