// sum_squares(x0, x1, ...) = the sum of the squares of all elements of all tensors, as f64[].
#include "engine/ops/support.h"

namespace hone {
namespace {

Result<Types> infer(const NodeView& n) {
  HONE_TRY(expect_inputs(n, 1, 1 << 20));
  for (size_t i = 0; i < n.inputs(); ++i) {
    if (!n.has(i)) return bad_operands(n, fmt::format("input {} is absent", i));
    HONE_TRY(expect_float(n, i));
  }
  return Types{{DType::f64, {}}};
}

Values decompose(Builder& b, const NodeView& n) {
  ValueId sum = ops::constant(b, 0, {DType::f64, {}});
  for (size_t i = 0; i < n.inputs(); ++i) {
    ValueId x = ops::cast(b, n.input(i), DType::f64);
    sum = ops::add(b, sum, fit(b, ops::mul(b, x, x), {DType::f64, {}}));
  }
  return {sum};
}

Cost cost(const NodeView& n) {
  Cost c = elementwise(n, 0);
  for (size_t i = 0; i < n.inputs(); ++i) c.flops += 2.0 * static_cast<double>(n.in(i).count());
  return c;
}

}  // namespace

Op define_sum_squares() { return {"sum_squares", infer, decompose, nullptr, cost}; }

ValueId ops::sum_squares(Builder& b, const Values& tensors) {
  return b.emit1("sum_squares", tensors);
}

}  // namespace hone
