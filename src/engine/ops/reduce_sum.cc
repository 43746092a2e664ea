// reduce_sum(x) = the sum over `axes`, which the result does not have.
#include "engine/ops/support.h"

namespace hone {
namespace {

Values grad_reduce_sum(Builder& b, const NodeView& n, const Values& d) {
  Shape shape = n.in(0).shape;
  return {ops::broadcast(b, d[0], shape, kept_axes(n))};
}

Cost cost_reduce_sum(const NodeView& n) {
  Cost c = elementwise(n, 0);
  c.flops = static_cast<double>(n.in(0).count());
  return c;
}

}  // namespace

Op define_reduce_sum() {
  return {.name = "reduce_sum",
          .operands = {"x"},
          .attrs = {required("axes", Shape{})},
          .infer = reduced,
          .grad = grad_reduce_sum,
          .cost = cost_reduce_sum};
}

ValueId ops::reduce_sum(Builder& b, ValueId x, std::vector<int64_t> axes) {
  return b.emit1("reduce_sum", {x}, {{"axes", std::move(axes)}});
}

}  // namespace hone
