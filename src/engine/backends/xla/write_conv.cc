// Convolutions and their gradients (engine/ops/conv2d*.cc) as convolutions: their decomposition would keep the
// windows of all images, which are larger by the pixels of a window.
#include "base/core/text.h"
#include "engine/backends/xla/write_ops.h"
#include "engine/ops/image_parts.h"

namespace hone::xla {

Ref Writer::convolution(const Ref& x, const Ref& kernel, const ConvolutionText& c,
                        const Ref& like) {
  return append(
      like.element, like.shape,
      fmt::format(
          "stablehlo.convolution({}, {}) dim_numbers = {}, window = {{stride = [{}], pad = [[{}, "
          "{}], [{}, {}]], lhs_dilate = [{}], rhs_dilate = [{}]}} {{batch_group_count = {} : i64, "
          "feature_group_count = {} : i64, precision_config = [#stablehlo<precision HIGHEST>, "
          "#stablehlo<precision HIGHEST>]}} : ({}, {}) -> {}",
          x.name, kernel.name, c.dims, fmt::join(c.stride, ", "), c.before[0], c.after[0],
          c.before[1], c.after[1], fmt::join(c.dilation, ", "), fmt::join(c.kernel_dilation, ", "),
          c.batch_groups, c.feature_groups, x.type(), kernel.type(), like.type()));
}

Ref Writer::reverse(const Ref& x, const std::vector<int64_t>& axes) {
  return append(x.element, x.shape,
                fmt::format("stablehlo.reverse {}, dims = [{}] : {}", x.name, fmt::join(axes, ", "),
                            x.type()));
}

namespace {

// The padding after the last row of an image, so that its windows end there; below 0 if rows are left.
int64_t padding_after(int64_t size, int64_t before, int64_t kernel, int64_t dilation, int64_t out,
                      int64_t stride) {
  return (out - 1) * stride + (kernel - 1) * dilation + 1 - size - before;
}

// That of both axes, in the forward pass.
std::array<int64_t, 2> padding_after(const ConvDims& d) {
  return {padding_after(d.height, d.top, d.kernel_h, d.dilation_h, d.out_h, d.stride_h),
          padding_after(d.width, d.left, d.kernel_w, d.dilation_w, d.out_w, d.stride_w)};
}

bool has_no_products(const NodeView& n) {
  return n.in(0).count() == 0 || n.in(1).count() == 0 || n.out(0).count() == 0;
}

std::string sums_of(const Ref& x) { return x.element == "f64" ? "f64" : "f32"; }

Refs with_addend(Writer& w, const NodeView& n, const Refs& in, Ref sum) {
  if (n.has("acc")) sum = w.binary("add", w.convert(in[n.slot("acc")], sum.element), sum);
  return {w.narrow(sum, element_of_result(n))};
}

Refs write_conv2d(Writer& w, const NodeView& n, const Refs& in) {
  const ConvDims d = *conv_dims(n, n.in("x").shape, n.in("w").shape);
  const Ref x = rounded_operand(w, n, in[0]), k = rounded_operand(w, n, in[1]);
  Ref y = w.number(0, sums_of(x), n.out(0).shape);
  if (!has_no_products(n))
    y = w.convolution(x, k,
                      {.dims = "[b, 0, 1, f]x[o, i, 0, 1]->[b, 0, 1, f]",
                       .stride = {d.stride_h, d.stride_w},
                       .before = {d.top, d.left},
                       .after = padding_after(d),
                       .kernel_dilation = {d.dilation_h, d.dilation_w},
                       .feature_groups = d.groups},
                      y);
  if (n.has("bias"))
    y = w.binary("add", y, w.broadcast(w.convert(in[n.slot("bias")], y.element), y.shape, {3}));
  return {w.narrow(y, element_of_result(n))};
}

// The weight [K,C/g,h,w] as [K/g,C,h,w], its windows turned.
Ref turned_weight(Writer& w, const ConvDims& d, const Ref& k) {
  Ref x = k;
  if (d.groups > 1) {
    x = w.reshape(x, {d.groups, d.group_out(), d.group_in(), d.kernel_h, d.kernel_w});
    x = w.reshape(w.transpose(x, {1, 0, 2, 3, 4}),
                  {d.group_out(), d.channels, d.kernel_h, d.kernel_w});
  }
  return w.reverse(x, {2, 3});
}

Refs write_conv2d_grad_input(Writer& w, const NodeView& n, const Refs& in) {
  const ConvDims d = *conv_dims(n, n.out(0).shape, n.in("w").shape);
  const Ref dy = rounded_operand(w, n, in[0]), k = rounded_operand(w, n, in[1]);
  Ref dx = w.number(0, sums_of(dy), n.out(0).shape);
  const auto after = [](int64_t size, int64_t before, int64_t kernel, int64_t dilation, int64_t out,
                        int64_t stride) {
    return size + (kernel - 1) * dilation - ((out - 1) * stride + 1) - before;
  };
  const int64_t top = (d.kernel_h - 1) * d.dilation_h - d.top,
                left = (d.kernel_w - 1) * d.dilation_w - d.left;
  if (!has_no_products(n))
    dx = w.convolution(
        dy, turned_weight(w, d, k),
        {.dims = "[b, 0, 1, f]x[i, o, 0, 1]->[b, 0, 1, f]",
         .before = {top, left},
         .after = {after(d.height, top, d.kernel_h, d.dilation_h, d.out_h, d.stride_h),
                   after(d.width, left, d.kernel_w, d.dilation_w, d.out_w, d.stride_w)},
         .dilation = {d.stride_h, d.stride_w},
         .kernel_dilation = {d.dilation_h, d.dilation_w},
         .feature_groups = d.groups},
        dx);
  return with_addend(w, n, in, dx);
}

// The images are the channels of this convolution, and the gradient of the result is its kernel.
Refs write_conv2d_grad_weight(Writer& w, const NodeView& n, const Refs& in) {
  const ConvDims d = *conv_dims(n, n.in("x").shape, n.out(0).shape);
  const Ref dy = rounded_operand(w, n, in[0]), x = rounded_operand(w, n, in[1]);
  Ref dw = w.number(0, sums_of(x), n.out(0).shape);
  if (!has_no_products(n))
    dw = w.convolution(x, dy,
                       {.dims = "[f, 0, 1, b]x[i, 0, 1, o]->[f, b, 0, 1]",
                        .stride = {d.dilation_h, d.dilation_w},
                        .before = {d.top, d.left},
                        .after = padding_after(d),
                        .kernel_dilation = {d.stride_h, d.stride_w},
                        .batch_groups = d.groups},
                       dw);
  return with_addend(w, n, in, dw);
}

}  // namespace

void add_convolutions(WriteTable& t) {
  t["conv2d"] = write_conv2d;
  t["conv2d_grad_input"] = write_conv2d_grad_input;
  t["conv2d_grad_weight"] = write_conv2d_grad_weight;
}

}  // namespace hone::xla
