// avg_pool2d_grad(dy): dx[p] = the sum of dy / (elements that count) over the windows of avg_pool2d that have pixel p.
// Attributes height, width and avg_pool2d's. dy [B,H',W',C] -> dx [B,height,width,C].
#include "engine/ops/image_parts.h"

namespace hone {
namespace {

Shape images_of(const NodeView& n) {
  const Shape& dy = n.in(0).shape;
  return {dy[0], n.integer("height"), n.integer("width"), dy[3]};
}

Result<Types> infer_avg_pool2d_grad(const NodeView& n) {
  HONE_TRY(expect_float(n, 0));
  HONE_TRY(expect_rank(n, 0, 4));
  if (n.integer("height") < 0 || n.integer("width") < 0)
    return bad_operands(n, "there are no negative sizes");
  const Shape images = images_of(n);
  const WindowDims d = HONE_TRY(pool_dims(n, images));
  HONE_TRY(expect_has_pixels(n, d));
  const DType dtype = n.in(0).dtype;
  HONE_TRY(expect_type(n, 0, {dtype, {d.images, d.out_h, d.out_w, d.channels}}));
  return Types{{dtype, images}};
}

Values decompose_avg_pool2d_grad(Builder& b, const NodeView& n) {
  const WindowDims d = *pool_dims(n, images_of(n));
  const ValueId pixels = window_pixels(b, d);
  const ValueId means =
      window_means(b, n, d, pixels, ops::reshape(b, n.input(0), {d.positions(), d.channels}));
  const ValueId parts = ops::broadcast(b, means, {d.positions(), d.taps(), d.channels}, {0, 2});
  const ValueId dx = ops::scatter_add_rows(
      b, pixels, ops::reshape(b, parts, {d.positions() * d.taps(), d.channels}), d.pixels());
  return {ops::reshape(b, dx, n.out(0).shape)};
}

}  // namespace

Op define_avg_pool2d_grad() {
  std::vector<AttrSpec> attrs = window_attrs();
  attrs.insert(attrs.end(), {required("kernel", Shape{}),
                             {"counts_padding", true},
                             required("height", 0),
                             required("width", 0)});
  return {.name = "avg_pool2d_grad",
          .operands = {"dy"},
          .attrs = std::move(attrs),
          .infer = infer_avg_pool2d_grad,
          .decompositions = {decompose_avg_pool2d_grad},
          .cost = [](const NodeView& n) { return elementwise(n, 9); }};
}

}  // namespace hone
