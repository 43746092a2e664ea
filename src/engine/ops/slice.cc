// slice(x) = elements [begin, end) of x along `axis`. Along axis 0 it is a view.
#include "engine/ops/support.h"

namespace hone {
namespace {

Result<Types> infer_slice(const NodeView& n) {
  Type t = n.in(0);
  int64_t axis = n.integer("axis"), begin = n.integer("begin"), end = n.integer("end");
  HONE_TRY(expect_axis(n, axis, t.rank()));
  int64_t& size = t.shape[static_cast<size_t>(axis)];
  if (begin < 0 || begin > end || end > size)
    return bad_operands(n, fmt::format("[{}, {}) is outside 0..{}", begin, end, size));
  size = end - begin;
  return Types{t};
}

// Zeros before and after.
Values grad_slice(Builder& b, const NodeView& n, const Values& d) {
  Type x = n.in(0), zeros = x;
  int64_t axis = n.integer("axis"), begin = n.integer("begin"), end = n.integer("end");
  auto at = static_cast<size_t>(axis);
  Values parts;
  auto pad = [&](int64_t size) {
    zeros.shape[at] = size;
    if (size > 0) parts.push_back(ops::constant(b, 0, zeros));
  };
  pad(begin);
  parts.push_back(d[0]);
  pad(x.shape[at] - end);
  return {parts.size() == 1 ? d[0] : ops::concat(b, parts, axis)};
}

Cost cost_slice(const NodeView& n) {
  return {0, n.integer("axis") == 0 ? 0.0 : 2.0 * static_cast<double>(n.out(0).bytes())};
}

// -1: not a view.
int64_t slice_offset(const NodeView& n) {
  if (n.integer("axis") != 0) return -1;
  const Type& x = n.in(0);
  return x.shape[0] == 0 ? 0 : n.integer("begin") * (x.bytes() / x.shape[0]);
}

}  // namespace

Op define_slice() {
  return {.name = "slice",
          .operands = {"x"},
          .attrs = {required("axis", 0), required("begin", 0), required("end", 0)},
          .infer = infer_slice,
          .grad = grad_slice,
          .cost = cost_slice,
          .view_offset = slice_offset};
}

ValueId ops::slice(Builder& b, ValueId x, int64_t axis, int64_t begin, int64_t end) {
  return b.emit1("slice", {x}, {{"axis", axis}, {"begin", begin}, {"end", end}});
}

}  // namespace hone
