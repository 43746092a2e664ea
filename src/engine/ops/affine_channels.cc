// affine_channels(x, scale, shift?) = x scale + shift, each column by its own. x [T,C], scale, shift [C] -> [T,C].
#include "engine/ops/image_ops.h"
#include "engine/ops/support.h"

namespace hone {
namespace {

Result<Types> infer_affine_channels(const NodeView& n) {
  HONE_TRY(expect_float(n, 0));
  HONE_TRY(expect_rank(n, 0, 2));
  const Type column{n.in(0).dtype, {n.in(0).shape[1]}};
  HONE_TRY(expect_type(n, 1, column));
  if (n.has("shift")) HONE_TRY(expect_type(n, n.slot("shift"), column));
  return Types{n.in(0)};
}

Values decompose_affine_channels(Builder& b, const NodeView& n) {
  const Type x = n.in(0);
  const ValueId shift = n.input("shift");
  const ValueId y = ops::mul(b, n.input("x"), along_columns(b, n.input("scale"), x));
  return {shift == kNoValue ? y : ops::add(b, y, along_columns(b, shift, x))};
}

Values grad_affine_channels(Builder& b, const NodeView& n, const Values& d) {
  const ValueId x = n.input("x"), scale = n.input("scale");
  const bool shifts = n.has("shift");
  return {ops::affine_channels(b, d[0], scale), ops::sum_rows(b, ops::mul(b, d[0], x)),
          shifts ? ops::sum_rows(b, d[0]) : kNoValue};
}

}  // namespace

Op define_affine_channels() {
  return {.name = "affine_channels",
          .operands = {"x", "scale", "shift?"},
          .infer = infer_affine_channels,
          .decompositions = {decompose_affine_channels},
          .grad = grad_affine_channels,
          .cost = [](const NodeView& n) { return elementwise(n, 2); },
          .over = {{0, "x"}}};
}

ValueId ops::affine_channels(Builder& b, ValueId x, ValueId scale, ValueId shift) {
  return b.emit1("affine_channels", {x, scale, shift});
}

}  // namespace hone
