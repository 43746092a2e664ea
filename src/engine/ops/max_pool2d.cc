// max_pool2d(x): y[b,i,j,c] = the largest x[b,.,.,c] in the window of attribute kernel = {h, w} at (i,j); the
// padding never wins. x [B,H,W,C] -> [B,H',W',C].
#include <limits>

#include "engine/ops/image_parts.h"

namespace hone {
namespace {

Values decompose_max_pool2d(Builder& b, const NodeView& n) {
  const WindowDims d = *pool_dims(n, n.in(0).shape);
  const Type y = n.out(0);
  const ValueId x = n.input(0), pixels = window_pixels(b, d), rows = window_rows(b, x, pixels);
  const ValueId inside = ops::compare(b, pixels, ops::constant(b, 0, {DType::i32, {}}), "ge");
  const ValueId all = ops::select(b, ops::broadcast(b, inside, b.type(rows).shape, {0}), rows,
                                  number(b, -std::numeric_limits<double>::infinity(), rows));
  const ValueId most =
      ops::reduce_max(b, ops::reshape(b, all, {d.positions(), d.taps(), d.channels}), {1});
  return {ops::reshape(b, most, y.shape)};
}

Values grad_max_pool2d(Builder& b, const NodeView& n, const Values& d) {
  Attrs attrs = window_attrs_of(n);
  attrs.set("kernel", n.integers("kernel"));
  return {b.emit1("max_pool2d_grad", {n.input(0), n.output(0), d[0]}, attrs)};
}

Cost cost_max_pool2d(const NodeView& n) {
  const std::vector<int64_t>& kernel = n.integers("kernel");
  Cost c = elementwise(n, 0);
  c.flops = static_cast<double>(n.out(0).count()) * static_cast<double>(kernel[0] * kernel[1]);
  return c;
}

}  // namespace

Op define_max_pool2d() {
  std::vector<AttrSpec> attrs = window_attrs();
  attrs.push_back(required("kernel", Shape{}));
  return {.name = "max_pool2d",
          .operands = {"x"},
          .attrs = std::move(attrs),
          .infer = infer_pool2d,
          .decompositions = {decompose_max_pool2d},
          .grad = grad_max_pool2d,
          .cost = cost_max_pool2d};
}

ValueId ops::max_pool2d(Builder& b, ValueId x, std::vector<int64_t> kernel,
                        const Windows& windows) {
  Attrs attrs = attrs_of(windows);
  attrs.set("kernel", std::move(kernel));
  return b.emit1("max_pool2d", {x}, attrs);
}

}  // namespace hone
