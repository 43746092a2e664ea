// sum_squares(x0, x1, ...) = the sum of the squares of each tensor's elements, as f64[n] for n
// tensors. Each sum is made by itself in f64, so that cutting the list changes no bit.
#include "engine/ops/support.h"

namespace hone {
namespace {

Result<Types> infer_sum_squares(const NodeView& n) {
  for (size_t i = 0; i < n.inputs(); ++i) HONE_TRY(expect_float(n, i));
  return Types{{DType::f64, {static_cast<int64_t>(n.inputs())}}};
}

Values decompose_sum_squares(Builder& b, const NodeView& n) {
  Values sums;
  for (size_t i = 0; i < n.inputs(); ++i) {
    const ValueId x = ops::cast(b, n.input(i), DType::f64);
    sums.push_back(ops::reshape(b, fit(b, ops::mul(b, x, x), {DType::f64, {}}), {1}));
  }
  return {ops::concat(b, sums, 0)};
}

Cost cost_sum_squares(const NodeView& n) {
  Cost c = elementwise(n, 0);
  for (size_t i = 0; i < n.inputs(); ++i) c.flops += 2.0 * static_cast<double>(n.in(i).count());
  return c;
}

}  // namespace

Op define_sum_squares() {
  return {.name = "sum_squares",
          .operands = {"tensors..."},
          .infer = infer_sum_squares,
          .decompositions = {decompose_sum_squares},
          .cost = cost_sum_squares};
}

ValueId ops::sum_squares(Builder& b, const Values& tensors) {
  return b.emit1("sum_squares", tensors);
}

ValueId ops::sum_squares(Builder& b, ValueId tensor) {
  return ops::reshape(b, sum_squares(b, Values{tensor}), {});
}

}  // namespace hone
