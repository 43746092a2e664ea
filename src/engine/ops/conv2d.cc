// conv2d(x, w, bias?): y[b,i,j,k] = bias[k] + the sum over taps (r,s) and channels c of k's group of
// x[b, i stride - top + r dilation, j stride - left + s dilation, c] w[k,c,r,s], with zeros outside the image:
// cross-correlation, as PyTorch's conv2d. With attribute bf16, or f16, products are those of operands rounded to it
// (see matmul), and so are those of the gradients; x and w may then be kept in that type. Attribute `as`: the type that the
// result is rounded to, and that the bias may have too. x [B,H,W,C], w [K,C/groups,h,w], bias [K] -> [B,H',W',K].
#include "engine/ops/image_parts.h"

namespace hone {
namespace {

Result<Types> infer_conv2d(const NodeView& n) {
  HONE_TRY(expect_float(n, 0));
  const Type &x = n.in("x"), &w = n.in("w");
  const DType dtype = HONE_TRY(product_type(n, 0, 1)), kept = HONE_TRY(kept_type(n, dtype));
  const ConvDims d = HONE_TRY(conv_dims(n, x.shape, w.shape));
  if (n.has("bias")) {
    const DType own = n.in("bias").dtype == kept ? kept : dtype;
    HONE_TRY(expect_type(n, n.slot("bias"), {own, {d.out_channels}}));
  }
  return Types{{kept, {d.images, d.out_h, d.out_w, d.out_channels}}};
}

Values decompose_conv2d(Builder& b, const NodeView& n) {
  const ConvDims d = *conv_dims(n, n.in("x").shape, n.in("w").shape);
  const ValueId bias = n.input("bias");
  const ValueId columns = conv_columns(b, d, window_rows(b, n.input("x"), window_pixels(b, d)));
  const ValueId y = conv_image(
      b, d, ops::matmul(b, columns, conv_matrix(b, d, n.input("w")), false, true, rounded_to(n)));
  const Type own = b.type(y);
  const DType kept = n.out(0).dtype;
  if (bias == kNoValue) return {ops::cast(b, y, kept)};
  const ValueId added = ops::broadcast(b, ops::cast(b, bias, own.dtype), own.shape, {3});
  return {ops::cast(b, ops::add(b, y, added), kept)};
}

Values grad_conv2d(Builder& b, const NodeView& n, const Values& d) {
  const Shape x = n.in("x").shape, w = n.in("w").shape;
  Attrs attrs = window_attrs_of(n);
  attrs.set("groups", n.integer("groups"));
  set_rounding(attrs, rounded_to(n));
  Attrs of_input = attrs;
  of_input.set("height", x[1]);
  of_input.set("width", x[2]);
  Attrs of_weight = attrs;
  of_weight.set("kernel", std::vector<int64_t>{w[2], w[3]});
  const ValueId dx = b.emit1("conv2d_grad_input", {d[0], n.input("w")}, of_input),
                dw = b.emit1("conv2d_grad_weight", {d[0], n.input("x")}, of_weight);
  if (!n.has("bias")) return {dx, dw, kNoValue};
  const Shape y = b.type(d[0]).shape;
  return {dx, dw, ops::sum_rows(b, ops::reshape(b, d[0], {y[0] * y[1] * y[2], y[3]}))};
}

Cost cost_conv2d(const NodeView& n) {
  const Shape& w = n.in("w").shape;
  return product_cost(n, n.out(0).count(), w[1] * w[2] * w[3]);
}

}  // namespace

Op define_conv2d() {
  std::vector<AttrSpec> attrs = window_attrs();
  attrs.push_back({"groups", int64_t{1}});
  attrs.push_back(kept_attr());
  return {.name = "conv2d",
          .operands = {"x", "w", "bias?"},
          .attrs = with_rounding(std::move(attrs)),
          .infer = infer_conv2d,
          .decompositions = {decompose_conv2d},
          .grad = grad_conv2d,
          .cost = cost_conv2d};
}

ValueId ops::conv2d(Builder& b, ValueId x, ValueId w, ValueId bias, const Windows& windows,
                    int64_t groups) {
  Attrs attrs = attrs_of(windows);
  if (groups != 1) attrs.set("groups", groups);
  return b.emit1("conv2d", {x, w, bias}, attrs);
}

}  // namespace hone
