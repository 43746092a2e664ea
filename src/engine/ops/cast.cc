// cast(x) = x as element type `dtype`: floats round to nearest even, floats to integers truncate,
// anything to bool is x != 0. With `saturate` a finite value that is too large for bf16 or f16
// becomes the largest that there is, with its sign, instead of an infinity.
#include "engine/ops/support.h"

namespace hone {
namespace {

Result<Types> infer_cast(const NodeView& n) {
  return Types{{HONE_TRY(dtype_named(n.text("dtype"))), n.in(0).shape}};
}

Values grad_cast(Builder& b, const NodeView& n, const Values& d) {
  if (!is_float(n.in(0).dtype) || !is_float(b.type(d[0]).dtype)) return {kNoValue};
  return {ops::cast(b, d[0], n.in(0).dtype)};
}

Cost cost_cast(const NodeView& n) { return elementwise(n, 0); }

}  // namespace

Op define_cast() {
  return {.name = "cast",
          .operands = {"x"},
          .attrs = {required("dtype", ""), AttrSpec{"saturate", false}},
          .infer = infer_cast,
          .grad = grad_cast,
          .cost = cost_cast};
}

ValueId ops::cast(Builder& b, ValueId x, DType to) {
  if (b.type(x).dtype == to) return x;
  return b.emit1("cast", {x}, {{"dtype", std::string(name_of(to))}});
}

}  // namespace hone
