// reshape(x) = the same elements in the same order as `shape`; a view.
#include "engine/ops/support.h"

namespace hone {
namespace {

Result<Types> infer_reshape(const NodeView& n) {
  Type t{n.in(0).dtype, n.integers("shape")};
  for (int64_t d : t.shape)
    if (d < 0)
      return bad_operands(n, fmt::format("the shape {} has a negative size", text_of(t.shape)));
  if (t.count() != n.in(0).count())
    return bad_operands(n, fmt::format("{} has another number of elements", text_of(t.shape)));
  return Types{t};
}

Values grad_reshape(Builder& b, const NodeView& n, const Values& d) {
  return {ops::reshape(b, d[0], n.in(0).shape)};
}

int64_t reshape_offset(const NodeView&) { return 0; }

}  // namespace

Op define_reshape() {
  return {.name = "reshape",
          .operands = {"x"},
          .attrs = {required("shape", Shape{})},
          .infer = infer_reshape,
          .grad = grad_reshape,
          .cost = free_of_charge,
          .view_offset = reshape_offset};
}

ValueId ops::reshape(Builder& b, ValueId x, Shape shape) {
  if (b.type(x).shape == shape) return x;
  return b.emit1("reshape", {x}, {{"shape", std::move(shape)}});
}

}  // namespace hone
