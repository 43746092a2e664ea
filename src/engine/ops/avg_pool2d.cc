// avg_pool2d(x): the mean of each window of attribute kernel = {h, w}; with counts_padding its zeros count, else the
// elements inside the image alone. x [B,H,W,C] -> [B,H',W',C].
#include "engine/ops/image_parts.h"

namespace hone {
namespace {

// Sums over windows [M,C] as means.
ValueId divided(Builder& b, const NodeView& n, const WindowDims& d, ValueId pixels, ValueId sums) {
  const Type type = b.type(sums);
  if (n.flag("counts_padding"))
    return ops::div(b, sums, number(b, static_cast<double>(d.taps()), sums));
  const ValueId inside = ops::cast(
      b, ops::compare(b, pixels, ops::constant(b, 0, {DType::i32, {}}), "ge"), type.dtype);
  const ValueId counts =
      ops::reduce_sum(b, ops::reshape(b, inside, {d.positions(), d.taps()}), {1});
  return ops::div(b, sums, along_rows(b, counts, type));
}

Values decompose_avg_pool2d(Builder& b, const NodeView& n) {
  const WindowDims d = *pool_dims(n, n.in(0).shape);
  const Shape y = n.out(0).shape;
  const ValueId pixels = window_pixels(b, d), rows = window_rows(b, n.input(0), pixels);
  const ValueId sums =
      ops::reduce_sum(b, ops::reshape(b, rows, {d.positions(), d.taps(), d.channels}), {1});
  return {ops::reshape(b, divided(b, n, d, pixels, sums), y)};
}

Values grad_avg_pool2d(Builder& b, const NodeView& n, const Values& dy) {
  const WindowDims d = *pool_dims(n, n.in(0).shape);
  const Shape x = n.in(0).shape;
  const ValueId pixels = window_pixels(b, d);
  const ValueId means =
      divided(b, n, d, pixels, ops::reshape(b, dy[0], {d.positions(), d.channels}));
  const ValueId parts = ops::broadcast(b, means, {d.positions(), d.taps(), d.channels}, {0, 2});
  const ValueId dx = ops::scatter_add_rows(
      b, pixels, ops::reshape(b, parts, {d.positions() * d.taps(), d.channels}), d.pixels());
  return {ops::reshape(b, dx, x)};
}

}  // namespace

Op define_avg_pool2d() {
  std::vector<AttrSpec> attrs = window_attrs();
  attrs.insert(attrs.end(), {required("kernel", Shape{}), {"counts_padding", true}});
  return {.name = "avg_pool2d",
          .operands = {"x"},
          .attrs = std::move(attrs),
          .infer = infer_pool2d,
          .decompositions = {decompose_avg_pool2d},
          .grad = grad_avg_pool2d,
          .cost = [](const NodeView& n) { return elementwise(n, 9); }};
}

ValueId ops::avg_pool2d(Builder& b, ValueId x, std::vector<int64_t> kernel, const Windows& windows,
                        bool counts_padding) {
  Attrs attrs = attrs_of(windows);
  attrs.set("kernel", std::move(kernel));
  if (!counts_padding) attrs.set("counts_padding", false);
  return b.emit1("avg_pool2d", {x}, attrs);
}

ValueId ops::global_pool(Builder& b, ValueId x) {
  const Shape s = b.type(x).shape;
  const ValueId sums = reduce_sum(b, reshape(b, x, {s[0], s[1] * s[2], s[3]}), {1});
  return mul(b, sums, number(b, 1.0 / static_cast<double>(s[1] * s[2]), sums));
}

}  // namespace hone
