// broadcast(x) = x repeated to `shape`: dimension i of x becomes dimension axes[i] of the result.
#include "engine/ops/support.h"

namespace hone {
namespace {

Result<Types> infer_broadcast(const NodeView& n) {
  Type t{n.in(0).dtype, n.integers("shape")};
  std::vector<int64_t> axes = n.integers("axes");
  if (axes.size() != n.in(0).shape.size())
    return bad_operands(n, "needs one axis for each dimension of the input");
  for (int64_t d : t.shape)
    if (d < 0)
      return bad_operands(n, fmt::format("the shape {} has a negative size", text_of(t.shape)));
  for (size_t i = 0; i < axes.size(); ++i) {
    HONE_TRY(expect_axis(n, axes[i], t.rank()));
    if (i > 0 && axes[i] <= axes[i - 1]) return bad_operands(n, "the axes must grow");
    if (t.shape[static_cast<size_t>(axes[i])] != n.in(0).shape[i])
      return bad_operands(
          n, fmt::format("dimension {} does not fit axis {} of {}", i, axes[i], text_of(t.shape)));
  }
  return Types{t};
}

Values grad_broadcast(Builder& b, const NodeView& n, const Values& d) {
  std::vector<int64_t> axes = n.integers("axes"), rest;
  for (int64_t a = 0; a < b.type(d[0]).rank(); ++a)
    if (std::find(axes.begin(), axes.end(), a) == axes.end()) rest.push_back(a);
  return {ops::reduce_sum(b, d[0], rest)};
}

Cost cost_broadcast(const NodeView& n) { return elementwise(n, 0); }

}  // namespace

Op define_broadcast() {
  return {.name = "broadcast",
          .operands = {"x"},
          .attrs = {required("shape", Shape{}), required("axes", Shape{})},
          .infer = infer_broadcast,
          .grad = grad_broadcast,
          .cost = cost_broadcast};
}

ValueId ops::broadcast(Builder& b, ValueId x, Shape shape, std::vector<int64_t> axes) {
  return b.emit1("broadcast", {x}, {{"shape", std::move(shape)}, {"axes", std::move(axes)}});
}

}  // namespace hone
