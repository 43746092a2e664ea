// affine_channels(x, scale, shift?) = x scale + shift, each column by its own. x [T,C], scale, shift [C] -> [T,C]. Types
// are those of norm_parts.h.
#include "engine/ops/image_ops.h"
#include "engine/ops/norm_parts.h"

namespace hone {
namespace {

Result<Types> infer_affine_channels(const NodeView& n) {
  HONE_TRY(expect_float(n, 0));
  HONE_TRY(expect_rank(n, 0, 2));
  const Type& x = n.in(0);
  HONE_TRY(expect_channels(n, 1, x));
  if (n.has("shift")) HONE_TRY(expect_same(n, 1, n.slot("shift")));
  return Types{{HONE_TRY(kept_type(n, x.dtype)), x.shape}};
}

Values decompose_affine_channels(Builder& b, const NodeView& n) {
  const Type x = n.in(0);
  if (is_mixed(n, {})) return {ops::cast(b, emit_wide(b, n, wide(x.dtype))[0], n.out(0).dtype)};
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
          .attrs = {kept_attr()},
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
