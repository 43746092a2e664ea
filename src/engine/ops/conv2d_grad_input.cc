// conv2d_grad_input(dy, w, acc?) = acc + the gradient of conv2d's x by that of its result. dy [B,H',W',K],
// w [K,C/groups,h,w]; attributes height, width and conv2d's -> dx [B,height,width,C]. Types are those of conv2d; acc has
// that of dx.
#include "engine/ops/image_parts.h"

namespace hone {
namespace {

Result<ConvDims> dims_of_input(const NodeView& n) {
  HONE_TRY(expect_float(n, 0));
  HONE_TRY(expect_rank(n, 0, 4));
  HONE_TRY(expect_rank(n, 1, 4));
  const Type &dy = n.in("dy"), &w = n.in("w");
  HONE_TRY(product_type(n, 0, 1));
  const int64_t height = n.integer("height"), width = n.integer("width");
  if (height < 0 || width < 0) return bad_operands(n, "there are no negative sizes");
  const ConvDims d = HONE_TRY(
      conv_dims(n, {dy.shape[0], height, width, w.shape[1] * n.integer("groups")}, w.shape));
  HONE_TRY(expect_conv_result(n, 0, d, dy.dtype));
  return d;
}

Result<Types> infer_conv2d_grad_input(const NodeView& n) {
  const ConvDims d = HONE_TRY(dims_of_input(n));
  const DType dtype = HONE_TRY(product_type(n, 0, 1)), kept = HONE_TRY(kept_type(n, dtype));
  const Type t{kept, {d.images, d.height, d.width, d.channels}};
  if (n.has("acc")) HONE_TRY(expect_addend(n, n.slot("acc"), t, dtype));
  return Types{t};
}

Values decompose_conv2d_grad_input(Builder& b, const NodeView& n) {
  const ConvDims d = *dims_of_input(n);
  const ValueId dy = n.input("dy"), w = n.input("w"), acc = n.input("acc");
  const ValueId columns = ops::matmul(b, conv_by_group(b, d, dy), conv_matrix(b, d, w), false,
                                      false, rounded_to(n));  // [g,M,J]
  const ValueId dx =
      ops::scatter_add_rows(b, window_pixels(b, d), conv_rows(b, d, columns), d.pixels());
  const ValueId image = ops::reshape(b, dx, {d.images, d.height, d.width, d.channels});
  const DType kept = n.out(0).dtype;
  if (acc == kNoValue) return {ops::cast(b, image, kept)};
  return {ops::cast(b, ops::add(b, ops::cast(b, acc, b.type(image).dtype), image), kept)};
}

Cost cost_conv2d_grad_input(const NodeView& n) {
  const Shape& w = n.in("w").shape;
  return product_cost(n, n.in("dy").count(), w[1] * w[2] * w[3]);
}

}  // namespace

Op define_conv2d_grad_input() {
  std::vector<AttrSpec> attrs = window_attrs();
  attrs.insert(attrs.end(),
               {{"groups", int64_t{1}}, required("height", 0), required("width", 0), kept_attr()});
  return {.name = "conv2d_grad_input",
          .operands = {"dy", "w", "acc?"},
          .attrs = with_rounding(std::move(attrs)),
          .infer = infer_conv2d_grad_input,
          .decompositions = {decompose_conv2d_grad_input},
          .cost = cost_conv2d_grad_input,
          .over = {{0, "acc", true}}};
}

}  // namespace hone
