// avg_pool2d(x): the mean of each window of attribute kernel = {h, w}; with counts_padding its zeros count, else the
// elements inside the image alone. x [B,H,W,C] -> [B,H',W',C].
#include "engine/ops/image_parts.h"

namespace hone {
namespace {

Values decompose_avg_pool2d(Builder& b, const NodeView& n) {
  const WindowDims d = *pool_dims(n, n.in(0).shape);
  const Shape y = n.out(0).shape;
  const ValueId pixels = window_pixels(b, d), rows = window_rows(b, n.input(0), pixels);
  const ValueId sums =
      ops::reduce_sum(b, ops::reshape(b, rows, {d.positions(), d.taps(), d.channels}), {1});
  return {ops::reshape(b, window_means(b, n, d, pixels, sums), y)};
}

Values grad_avg_pool2d(Builder& b, const NodeView& n, const Values& dy) {
  Attrs attrs = window_attrs_of(n);
  attrs.set("kernel", n.integers("kernel"));
  attrs.set("height", n.in(0).shape[1]);
  attrs.set("width", n.in(0).shape[2]);
  if (!n.flag("counts_padding")) attrs.set("counts_padding", false);
  return {b.emit1("avg_pool2d_grad", {dy[0]}, attrs)};
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
