// concat(x0, x1, ...) = the parts one after another along `axis`; all else is equal.
#include "engine/ops/support.h"

namespace hone {
namespace {

Result<Types> infer_concat(const NodeView& n) {
  Type t = n.in(0);
  int64_t axis = n.integer("axis");
  HONE_TRY(expect_axis(n, axis, t.rank()));
  auto at = static_cast<size_t>(axis);
  int64_t sum = 0;
  for (size_t i = 0; i < n.inputs(); ++i) {
    Type part = n.in(i);
    if (part.rank() != t.rank()) return bad_operands(n, "ranks differ");
    sum += part.shape[at];
    part.shape[at] = t.shape[at];
    if (part != t) return bad_operands(n, fmt::format("parts differ outside axis {}", axis));
  }
  t.shape[at] = sum;
  return Types{t};
}

Values grad_concat(Builder& b, const NodeView& n, const Values& d) {
  int64_t axis = n.integer("axis"), begin = 0;
  Values parts;
  for (size_t i = 0; i < n.inputs(); ++i) {
    int64_t end = begin + n.in(i).shape[static_cast<size_t>(axis)];
    parts.push_back(ops::slice(b, d[0], axis, begin, end));
    begin = end;
  }
  return parts;
}

Cost cost_concat(const NodeView& n) { return elementwise(n, 0); }

}  // namespace

Op define_concat() {
  return {.name = "concat",
          .operands = {"parts..."},
          .attrs = {required("axis", 0)},
          .infer = infer_concat,
          .grad = grad_concat,
          .cost = cost_concat};
}

ValueId ops::concat(Builder& b, const Values& parts, int64_t axis) {
  return b.emit1("concat", parts, {{"axis", axis}});
}

}  // namespace hone
