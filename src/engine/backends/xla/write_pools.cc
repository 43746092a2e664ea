// Pools of images and their gradients (engine/ops/*_pool2d*.cc) as operations over windows: their decomposition would
// keep the windows of all images.
#include "base/core/text.h"
#include "engine/backends/xla/write_ops.h"
#include "engine/ops/image_parts.h"

namespace hone::xla {
namespace {

using Pair = WindowText::Pair;

std::string padding_text(const Pair& before, const Pair& after) {
  return fmt::format("padding = dense<[[0, 0], [{}, {}], [{}, {}], [0, 0]]> : tensor<4x2xi64>",
                     before[0], after[0], before[1], after[1]);
}
std::string of_images(const Pair& p) { return fmt::format("array<i64: 1, {}, {}, 1>", p[0], p[1]); }

// The body of an operation that combines two elements.
std::string body_of(const std::string& operation, const std::string& scalar,
                    const std::string& result) {
  return fmt::format(
      "{{\n    ^bb0(%old: {0}, %new: {0}):\n      %made = stablehlo.{1}\n      stablehlo.return "
      "%made : {2}\n    }}",
      scalar, operation, result);
}
std::string combines(const std::string& op, const std::string& scalar) {
  return body_of(fmt::format("{} %old, %new : {}", op, scalar), scalar, scalar);
}

}  // namespace

Ref Writer::reduce_windows(const std::string& op, const Ref& x, double start, const WindowText& t,
                           const Shape& shape) {
  const Ref first = number(start, x.element);
  return append(
      x.element, shape,
      fmt::format("\"stablehlo.reduce_window\"({}, {}) <{{window_dimensions = {}, window_strides = "
                  "{}, window_dilations = {}, {}}}> ({}) : ({}, {}) -> {}",
                  x.name, first.name, of_images(t.size), of_images(t.stride), of_images(t.dilation),
                  padding_text(t.before, t.after), combines(op, first.type()), x.type(),
                  first.type(), type_text(x.element, shape)));
}

Ref Writer::add_to_largest(const Ref& x, const Ref& updates, const WindowText& t) {
  const Ref zero = number(0, x.element);
  const std::string scalar = zero.type();
  // >= keeps the first of equal elements.
  const std::string keeps =
      body_of(fmt::format("compare GE, %old, %new, FLOAT : ({0}, {0}) -> tensor<i1>", scalar),
              scalar, "tensor<i1>");
  return append(
      x.element, x.shape,
      fmt::format("\"stablehlo.select_and_scatter\"({}, {}, {}) <{{window_dimensions = {}, "
                  "window_strides = {}, {}}}> ({}, {}) : ({}, {}, {}) -> {}",
                  x.name, updates.name, zero.name, of_images(t.size), of_images(t.stride),
                  padding_text(t.before, t.after), keeps, combines("add", scalar), x.type(),
                  updates.type(), scalar, x.type()));
}

Ref Writer::spread(const Ref& x, const Pair& stride, const Pair& before, const Pair& after) {
  Shape shape = x.shape;
  for (size_t i = 0; i < 2; ++i)
    shape[i + 1] = before[i] + (shape[i + 1] - 1) * stride[i] + 1 + after[i];
  const Ref zero = number(0, x.element);
  return append(
      x.element, shape,
      fmt::format("stablehlo.pad {}, {}, low = [0, {}, 0], high = [0, {}, 0], interior = [0, {}, "
                  "{}, 0] : ({}, {}) -> {}",
                  x.name, zero.name, fmt::join(before, ", "), fmt::join(after, ", "), stride[0] - 1,
                  stride[1] - 1, x.type(), zero.type(), type_text(x.element, shape)));
}

namespace {

WindowText windows_of(const NodeView& n, const WindowDims& d) {
  const std::vector<int64_t>& padding = n.integers("padding");
  return {.size = {d.kernel_h, d.kernel_w},
          .stride = {d.stride_h, d.stride_w},
          .before = {padding[0], padding[1]},
          .after = {padding[2], padding[3]},
          .dilation = {d.dilation_h, d.dilation_w}};
}

bool is_empty(const NodeView& n) { return n.in(0).count() == 0 || n.out(0).count() == 0; }
Ref no_result(Writer& w, const NodeView& n) {
  return w.number(0, element_of_result(n), n.out(0).shape);
}

Refs write_max_pool2d(Writer& w, const NodeView& n, const Refs& in) {
  if (is_empty(n)) return {no_result(w, n)};
  const WindowDims d = *pool_dims(n, n.in(0).shape);
  return {w.reduce_windows("maximum", in[0], -INFINITY, windows_of(n, d), n.out(0).shape)};
}

Refs write_max_pool2d_grad(Writer& w, const NodeView& n, const Refs& in) {
  if (is_empty(n)) return {no_result(w, n)};
  const WindowDims d = *pool_dims(n, n.in("x").shape);
  const Ref dx =
      w.add_to_largest(w.widen(in[n.slot("x")]), w.widen(in[n.slot("dy")]), windows_of(n, d));
  return {w.narrow(dx, element_of_result(n))};
}

// Sums over windows, or gradients of their means, by the number of elements that count; shape [B,H',W',C].
Ref divided(Writer& w, const NodeView& n, const WindowDims& d, const Ref& sums) {
  if (n.flag("counts_padding"))
    return w.binary("divide", sums, w.number_like(static_cast<double>(d.taps()), sums));
  const auto counts = [&](int64_t out, int64_t kernel, int64_t stride, int64_t dilation,
                          int64_t before, int64_t size) {
    std::vector<float> all(static_cast<size_t>(out));
    for (int64_t i = 0; i < out; ++i)
      for (int64_t k = 0; k < kernel; ++k) {
        const int64_t at = i * stride + k * dilation - before;
        all[static_cast<size_t>(i)] += at >= 0 && at < size ? 1.0F : 0.0F;
      }
    return w.convert(w.table("f32", {out}, all.data(), all.size() * sizeof(float)), sums.element);
  };
  const Ref rows = counts(d.out_h, d.kernel_h, d.stride_h, d.dilation_h, d.top, d.height),
            columns = counts(d.out_w, d.kernel_w, d.stride_w, d.dilation_w, d.left, d.width);
  return w.binary("divide", sums,
                  w.binary("multiply", w.broadcast(rows, sums.shape, {1}),
                           w.broadcast(columns, sums.shape, {2})));
}

Refs write_avg_pool2d(Writer& w, const NodeView& n, const Refs& in) {
  if (is_empty(n)) return {no_result(w, n)};
  const WindowDims d = *pool_dims(n, n.in(0).shape);
  const Ref sums = w.reduce_windows("add", w.widen(in[0]), 0, windows_of(n, d), n.out(0).shape);
  return {w.narrow(divided(w, n, d, sums), element_of_result(n))};
}

// A pixel's gradient is the sum of a window of the results' gradients, which are a stride apart.
Refs write_avg_pool2d_grad(Writer& w, const NodeView& n, const Refs& in) {
  if (is_empty(n)) return {no_result(w, n)};
  const WindowDims d = *pool_dims(n, n.out(0).shape);
  const Ref means = divided(w, n, d, w.widen(in[0]));
  const Pair before = {(d.kernel_h - 1) * d.dilation_h - d.top,
                       (d.kernel_w - 1) * d.dilation_w - d.left},
             after = {d.height - 1 + d.top - (d.out_h - 1) * d.stride_h,
                      d.width - 1 + d.left - (d.out_w - 1) * d.stride_w};
  const Ref apart = w.spread(means, {d.stride_h, d.stride_w}, before, after);
  const Ref dx = w.reduce_windows(
      "add", apart, 0, {.size = {d.kernel_h, d.kernel_w}, .dilation = {d.dilation_h, d.dilation_w}},
      n.out(0).shape);
  return {w.narrow(dx, element_of_result(n))};
}

}  // namespace

// select_and_scatter knows no dilation.
bool writes_max_pool2d_grad(const NodeView& n) {
  return n.integers("dilation") == std::vector<int64_t>{1, 1};
}

void add_pools(WriteTable& t) {
  t["max_pool2d"] = write_max_pool2d;
  t["max_pool2d_grad"] = write_max_pool2d_grad;
  t["avg_pool2d"] = write_avg_pool2d;
  t["avg_pool2d_grad"] = write_avg_pool2d_grad;
}

}  // namespace hone::xla
