// conv2d_grad_weight(dy, x, acc?) = acc + the gradient of conv2d's w by that of its result.
// dy [B,H',W',K], x [B,H,W,C]; attributes kernel = {h, w} and conv2d's -> dw [K,C/groups,h,w]. Types are those of conv2d;
// acc has that of dw.
#include "engine/ops/image_parts.h"

namespace hone {
namespace {

Result<ConvDims> dims_of_weight(const NodeView& n) {
  HONE_TRY(expect_float(n, 0));
  HONE_TRY(expect_rank(n, 0, 4));
  HONE_TRY(expect_rank(n, 1, 4));
  const Type &dy = n.in("dy"), &x = n.in("x");
  const std::vector<int64_t>& kernel = n.integers("kernel");
  const int64_t groups = n.integer("groups");
  HONE_TRY(product_type(n, 0, 1));
  if (kernel.size() != 2 || groups < 1) return bad_operands(n, "kernel or groups is out of range");
  const ConvDims d =
      HONE_TRY(conv_dims(n, x.shape, {dy.shape[3], x.shape[3] / groups, kernel[0], kernel[1]}));
  HONE_TRY(expect_conv_result(n, 0, d, dy.dtype));
  return d;
}

Result<Types> infer_conv2d_grad_weight(const NodeView& n) {
  const ConvDims d = HONE_TRY(dims_of_weight(n));
  const DType dtype = HONE_TRY(product_type(n, 0, 1)), kept = HONE_TRY(kept_type(n, dtype));
  const Type t{kept, {d.out_channels, d.group_in(), d.kernel_h, d.kernel_w}};
  if (n.has("acc")) HONE_TRY(expect_addend(n, n.slot("acc"), t, dtype));
  return Types{t};
}

Values decompose_conv2d_grad_weight(Builder& b, const NodeView& n) {
  const ConvDims d = *dims_of_weight(n);
  const ValueId dy = n.input("dy"), x = n.input("x"), acc = n.input("acc");
  const ValueId columns = conv_columns(b, d, window_rows(b, x, window_pixels(b, d)));
  const ValueId dw = conv_weight(
      b, d,
      ops::matmul(b, conv_by_group(b, d, dy), columns, true, false, rounded_to(n)));  // [g,K/g,J]
  const DType kept = n.out(0).dtype;
  if (acc == kNoValue) return {ops::cast(b, dw, kept)};
  return {ops::cast(b, ops::add(b, ops::cast(b, acc, b.type(dw).dtype), dw), kept)};
}

Cost cost_conv2d_grad_weight(const NodeView& n) {
  const Shape& w = n.out(0).shape;
  return product_cost(n, n.in("dy").count(), w[1] * w[2] * w[3]);
}

}  // namespace

Op define_conv2d_grad_weight() {
  std::vector<AttrSpec> attrs = window_attrs();
  attrs.insert(attrs.end(), {{"groups", int64_t{1}}, required("kernel", Shape{}), kept_attr()});
  return {.name = "conv2d_grad_weight",
          .operands = {"dy", "x", "acc?"},
          .attrs = with_rounding(std::move(attrs)),
          .infer = infer_conv2d_grad_weight,
          .decompositions = {decompose_conv2d_grad_weight},
          .cost = cost_conv2d_grad_weight,
          .over = {{0, "acc", true}}};
}

}  // namespace hone
