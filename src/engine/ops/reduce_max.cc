// reduce_max(x) = the largest element over `axes`, which the result does not have.
#include "engine/ops/support.h"

namespace hone {
namespace {

// Equal largest elements share the gradient.
Values grad_reduce_max(Builder& b, const NodeView& n, const Values& d) {
  Shape shape = n.in(0).shape;
  std::vector<int64_t> kept = kept_axes(n), axes = n.integers("axes");
  ValueId hit = ops::compare(b, n.input(0), ops::broadcast(b, n.output(0), shape, kept), "eq");
  ValueId ties = ops::reduce_sum(b, ops::cast(b, hit, b.type(d[0]).dtype), axes);
  ValueId share = ops::broadcast(b, ops::div(b, d[0], ties), shape, kept);
  return {ops::select(b, hit, share, number(b, 0, share))};
}

Cost cost_reduce_max(const NodeView& n) {
  Cost c = elementwise(n, 0);
  c.flops = static_cast<double>(n.in(0).count());
  return c;
}

}  // namespace

Op define_reduce_max() {
  return {.name = "reduce_max",
          .operands = {"x"},
          .attrs = {required("axes", Shape{})},
          .infer = reduced,
          .grad = grad_reduce_max,
          .cost = cost_reduce_max};
}

ValueId ops::reduce_max(Builder& b, ValueId x, std::vector<int64_t> axes) {
  return b.emit1("reduce_max", {x}, {{"axes", std::move(axes)}});
}

}  // namespace hone
