// reduce_sum(x) = the sum over `axes`, which the result does not have.
#include "engine/ops/support.h"

namespace hone {
namespace {

std::vector<int64_t> kept_axes(const NodeView& n) {
  std::vector<int64_t> axes = n.attrs().integers("axes"), kept;
  for (int64_t a = 0; a < n.in(0).rank(); ++a)
    if (std::find(axes.begin(), axes.end(), a) == axes.end()) kept.push_back(a);
  return kept;
}

Result<Types> infer(const NodeView& n) {
  HONE_TRY(expect_inputs(n, 1, 1));
  std::vector<int64_t> axes = n.attrs().integers("axes");
  for (size_t i = 0; i < axes.size(); ++i) {
    HONE_TRY(expect_axis(n, axes[i], n.in(0).rank()));
    if (i > 0 && axes[i] <= axes[i - 1]) return bad_operands(n, "the axes must grow");
  }
  Type t{n.in(0).dtype, {}};
  for (int64_t a : kept_axes(n)) t.shape.push_back(n.in(0).shape[static_cast<size_t>(a)]);
  return Types{t};
}

Values grad(Builder& b, const NodeView& n, const Values& d) {
  Shape shape = n.in(0).shape;
  return {ops::broadcast(b, d[0], shape, kept_axes(n))};
}

Cost cost(const NodeView& n) {
  Cost c = elementwise(n, 0);
  c.flops = static_cast<double>(n.in(0).count());
  return c;
}

}  // namespace

Op define_reduce_sum() { return {"reduce_sum", infer, nullptr, grad, cost}; }

ValueId ops::reduce_sum(Builder& b, ValueId x, std::vector<int64_t> axes) {
  return b.emit1("reduce_sum", {x}, {{"axes", std::move(axes)}});
}

}  // namespace hone
