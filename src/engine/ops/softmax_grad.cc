// softmax_grad(y, dy) = y (dy - the sum over the row of y dy): the gradient of softmax, by its result.
// y, dy [..,C] -> [..,C].
#include "engine/ops/support.h"

namespace hone {
namespace {

Result<Types> infer_softmax_grad(const NodeView& n) {
  HONE_TRY(expect_same(n, 0, 1));
  if (n.in(0).rank() < 1) return bad_operands(n, "a scalar has no rows");
  return same_as_first(n);
}

Values decompose_softmax_grad(Builder& b, const NodeView& n) {
  const Type t{wide(n.in(0).dtype), n.in(0).shape};
  const DType own = n.in(0).dtype;
  std::vector<int64_t> before;
  for (int64_t axis = 0; axis + 1 < t.rank(); ++axis) before.push_back(axis);
  const ValueId y = widened(b, n.input(0)), weighted = ops::mul(b, y, widened(b, n.input(1)));
  const ValueId sums = ops::reduce_sum(b, weighted, {t.rank() - 1});
  const ValueId shared = ops::mul(b, y, ops::broadcast(b, sums, t.shape, before));
  return {ops::cast(b, ops::sub(b, weighted, shared), own)};
}

}  // namespace

Op define_softmax_grad() {
  return {.name = "softmax_grad",
          .operands = {"y", "dy"},
          .infer = infer_softmax_grad,
          .decompositions = {decompose_softmax_grad},
          .cost = [](const NodeView& n) { return elementwise(n, 4); }};
}

}  // namespace hone
