// select(condition, x, y) = condition ? x : y, elementwise; each operand has the result's shape or
// is a scalar; condition is bool, x and y have one element type.
#include "engine/ops/support.h"

namespace hone {
namespace {

Result<Types> infer_select(const NodeView& n) {
  if (n.in(0).dtype != DType::boolean) return bad_operands(n, "the condition must be bool");
  if (n.in(1).dtype != n.in(2).dtype) return bad_operands(n, "element types differ");
  Type t{n.in(1).dtype, {}};
  for (size_t i = 0; i < 3; ++i) {
    if (n.in(i).rank() == 0) continue;
    if (t.rank() != 0 && t.shape != n.in(i).shape) return bad_operands(n, "shapes differ");
    t.shape = n.in(i).shape;
  }
  return Types{t};
}

Values grad_select(Builder& b, const NodeView& n, const Values& d) {
  Type x = n.in(1), y = n.in(2);
  ValueId zero = number(b, 0, d[0]);
  return {kNoValue, fit(b, ops::select(b, n.input(0), d[0], zero), x),
          fit(b, ops::select(b, n.input(0), zero, d[0]), y)};
}

}  // namespace

Op define_select() {
  return {.name = "select",
          .operands = {"condition", "x", "y"},
          .infer = infer_select,
          .grad = grad_select,
          .over = {{0, "x"}}};
}

ValueId ops::select(Builder& b, ValueId condition, ValueId x, ValueId y) {
  return b.emit1("select", {condition, x, y});
}

}  // namespace hone
