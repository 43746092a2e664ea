// max_pool2d_grad(x, y, dy): dx[p] = the sum of dy over the windows of max_pool2d whose first largest element,
// row by row, is p; y is max_pool2d's result. x [B,H,W,C], y, dy [B,H',W',C] -> dx [B,H,W,C].
#include "engine/ops/image_parts.h"

namespace hone {
namespace {

Result<Types> infer_max_pool2d_grad(const NodeView& n) {
  HONE_TRY(expect_float(n, 0));
  const WindowDims d = HONE_TRY(pool_dims(n, n.in("x").shape));
  const Type y{n.in("x").dtype, {d.images, d.out_h, d.out_w, d.channels}};
  HONE_TRY(expect_type(n, 1, y));
  HONE_TRY(expect_type(n, 2, y));
  return Types{n.in("x")};
}

Values decompose_max_pool2d_grad(Builder& b, const NodeView& n) {
  const WindowDims d = *pool_dims(n, n.in("x").shape);
  const Type x = n.in("x");
  const Shape windows{d.positions(), d.taps(), d.channels};
  const ValueId image = n.input("x"), pixels = window_pixels(b, d);
  const auto by_window = [&](ValueId v) {
    return ops::broadcast(b, ops::reshape(b, v, {d.positions(), d.channels}), windows, {0, 2});
  };
  const ValueId y = by_window(n.input("y")), dy = by_window(n.input("dy"));
  const ValueId rows = ops::reshape(b, window_rows(b, image, pixels), windows);
  const auto number_of = [&](int64_t v) {
    return ops::constant(b, static_cast<double>(v), {DType::i32, {}});
  };
  const ValueId inside = ops::broadcast(
      b, ops::reshape(b, ops::compare(b, pixels, number_of(0), "ge"), {d.positions(), d.taps()}),
      windows, {0, 1});
  const ValueId largest = ops::minimum(b, ops::compare(b, rows, y, "eq"), inside);
  // The first of equal ones: the largest of taps that count down.
  const ValueId down = ops::sub(b, number_of(d.taps()), ops::iota(b, {DType::i32, windows}, 1));
  const ValueId mark = ops::cast(b, ops::select(b, largest, down, number_of(0)), x.dtype);
  const ValueId first = ops::compare(
      b, mark, ops::broadcast(b, ops::reduce_max(b, mark, {1}), windows, {0, 2}), "eq");
  const ValueId parts =
      ops::select(b, ops::minimum(b, first, largest), dy, ops::constant(b, 0, {x.dtype, {}}));
  const ValueId dx = ops::scatter_add_rows(
      b, pixels, ops::reshape(b, parts, {d.positions() * d.taps(), d.channels}), d.pixels());
  return {ops::reshape(b, dx, x.shape)};
}

}  // namespace

Op define_max_pool2d_grad() {
  std::vector<AttrSpec> attrs = window_attrs();
  attrs.push_back(required("kernel", Shape{}));
  return {.name = "max_pool2d_grad",
          .operands = {"x", "y", "dy"},
          .attrs = std::move(attrs),
          .infer = infer_max_pool2d_grad,
          .decompositions = {decompose_max_pool2d_grad},
          .cost = [](const NodeView& n) { return elementwise(n, 9); }};
}

}  // namespace hone
