#include "engine/ops/image_parts.h"

#include <algorithm>

namespace hone {
namespace {

constexpr int64_t kOutside = -(int64_t{1} << 30);  // of an index in the padding

// i32[out,kernel]: index of the row or column of each tap, times `apart`; kOutside in the padding.
ValueId axis_index(Builder& b, int64_t out, int64_t kernel, int64_t stride, int64_t dilation,
                   int64_t before, int64_t size, int64_t apart) {
  const Type type{DType::i32, {out, kernel}};
  const auto times = [&](ValueId v, int64_t by) {
    return ops::mul(b, v, ops::constant(b, static_cast<double>(by), {DType::i32, {}}));
  };
  const auto number = [&](int64_t v) {
    return ops::constant(b, static_cast<double>(v), {DType::i32, {}});
  };
  const ValueId at = ops::sub(
      b, ops::add(b, times(ops::iota(b, type, 0), stride), times(ops::iota(b, type, 1), dilation)),
      number(before));
  const ValueId inside = ops::minimum(b, ops::compare(b, at, number(0), "ge"),
                                      ops::compare(b, at, number(size), "lt"));
  return ops::select(b, inside, times(at, apart), number(kOutside));
}

}  // namespace

std::vector<AttrSpec> window_attrs() {
  return {{"stride", std::vector<int64_t>{1, 1}},
          {"padding", std::vector<int64_t>{0, 0, 0, 0}},
          {"dilation", std::vector<int64_t>{1, 1}}};
}

Result<WindowDims> window_dims(const NodeView& n, const Shape& images, int64_t kernel_h,
                               int64_t kernel_w) {
  if (images.size() != 4) return bad_operands(n, "images have four dimensions");
  const std::vector<int64_t>&stride = n.integers("stride"), &padding = n.integers("padding"),
        &dilation = n.integers("dilation");
  if (stride.size() != 2 || padding.size() != 4 || dilation.size() != 2)
    return bad_operands(n, "stride and dilation have two numbers, padding has four");
  constexpr int64_t kMost = int64_t{1} << 20;
  const auto in_range = [](const std::vector<int64_t>& all, int64_t least) {
    return std::ranges::all_of(all, [&](int64_t v) { return v >= least && v <= kMost; });
  };
  if (!in_range(stride, 1) || !in_range(dilation, 1) || !in_range(padding, 0) || kernel_h < 1 ||
      kernel_w < 1 || kernel_h > kMost || kernel_w > kMost)
    return bad_operands(n,
                        "a stride, a dilation, a padding or a size of the kernel is out of range");
  WindowDims d{.images = images[0],
               .height = images[1],
               .width = images[2],
               .channels = images[3],
               .kernel_h = kernel_h,
               .kernel_w = kernel_w,
               .stride_h = stride[0],
               .stride_w = stride[1],
               .top = padding[0],
               .left = padding[1],
               .dilation_h = dilation[0],
               .dilation_w = dilation[1]};
  const int64_t room_h = d.height + padding[0] + padding[2] - d.dilation_h * (kernel_h - 1) - 1,
                room_w = d.width + padding[1] + padding[3] - d.dilation_w * (kernel_w - 1) - 1;
  if (room_h < 0 || room_w < 0) return bad_operands(n, "the windows are larger than the images");
  d.out_h = room_h / d.stride_h + 1;
  d.out_w = room_w / d.stride_w + 1;
  if (d.images > 0 && (d.height > -kOutside / std::max<int64_t>(1, d.width) ||
                       d.height * d.width > -kOutside / d.images))
    return bad_operands(n, "there are 2^30 pixels or more");
  return d;
}

Result<WindowDims> pool_dims(const NodeView& n, const Shape& images) {
  const std::vector<int64_t>& kernel = n.integers("kernel");
  if (kernel.size() != 2) return bad_operands(n, "kernel has two numbers");
  return window_dims(n, images, kernel[0], kernel[1]);
}

Status expect_has_pixels(const NodeView& n, const WindowDims& d) {
  const std::vector<int64_t>& padding = n.integers("padding");
  if (std::max(padding[0], padding[2]) > (d.kernel_h - 1) * d.dilation_h ||
      std::max(padding[1], padding[3]) > (d.kernel_w - 1) * d.dilation_w)
    return bad_operands(n, "a window would be all padding");
  return Ok{};
}

Result<Types> infer_pool2d(const NodeView& n) {
  HONE_TRY(expect_float(n, 0));
  const WindowDims d = HONE_TRY(pool_dims(n, n.in(0).shape));
  HONE_TRY(expect_has_pixels(n, d));
  return Types{{n.in(0).dtype, {d.images, d.out_h, d.out_w, d.channels}}};
}

Attrs attrs_of(const ops::Windows& w) {
  Attrs attrs;
  if (w.stride != std::vector<int64_t>{1, 1}) attrs.set("stride", w.stride);
  if (w.padding != std::vector<int64_t>{0, 0, 0, 0}) attrs.set("padding", w.padding);
  if (w.dilation != std::vector<int64_t>{1, 1}) attrs.set("dilation", w.dilation);
  return attrs;
}

Attrs window_attrs_of(const NodeView& n) {
  return attrs_of({n.integers("stride"), n.integers("padding"), n.integers("dilation")});
}

ValueId window_pixels(Builder& b, const WindowDims& d) {
  const Shape shape{d.images, d.out_h, d.out_w, d.kernel_h, d.kernel_w};
  const ValueId row = axis_index(b, d.out_h, d.kernel_h, d.stride_h, d.dilation_h, d.top, d.height,
                                 d.width),
                column = axis_index(b, d.out_w, d.kernel_w, d.stride_w, d.dilation_w, d.left,
                                    d.width, 1);
  const auto number = [&](int64_t v) {
    return ops::constant(b, static_cast<double>(v), {DType::i32, {}});
  };
  const ValueId image =
      ops::mul(b, ops::iota(b, {DType::i32, {d.images}}, 0), number(d.height * d.width));
  const ValueId at = ops::add(
      b, ops::broadcast(b, image, shape, {0}),
      ops::add(b, ops::broadcast(b, row, shape, {1, 3}), ops::broadcast(b, column, shape, {2, 4})));
  const ValueId inside = ops::compare(b, at, number(0), "ge");
  return ops::reshape(b, ops::select(b, inside, at, number(-1)), {d.positions() * d.taps()});
}

ValueId window_rows(Builder& b, ValueId x, ValueId pixels) {
  const Shape s = b.type(x).shape;
  return ops::gather_rows(b, ops::reshape(b, x, {s[0] * s[1] * s[2], s[3]}), pixels);
}

ValueId window_means(Builder& b, const NodeView& n, const WindowDims& d, ValueId pixels,
                     ValueId sums) {
  const Type type = b.type(sums);
  if (n.flag("counts_padding"))
    return ops::div(b, sums, number(b, static_cast<double>(d.taps()), sums));
  const ValueId inside = ops::cast(
      b, ops::compare(b, pixels, ops::constant(b, 0, {DType::i32, {}}), "ge"), type.dtype);
  const ValueId counts =
      ops::reduce_sum(b, ops::reshape(b, inside, {d.positions(), d.taps()}), {1});
  return ops::div(b, sums, along_rows(b, counts, type));
}

Result<ConvDims> conv_dims(const NodeView& n, const Shape& images, const Shape& weight) {
  if (weight.size() != 4) return bad_operands(n, "the weight has four dimensions");
  if (n.flag("bf16") && n.flag("f16")) return bad_operands(n, "attributes bf16 and f16 at once");
  ConvDims d{HONE_TRY(window_dims(n, images, weight[2], weight[3]))};
  d.out_channels = weight[0];
  d.groups = n.integer("groups");
  if (d.groups < 1 || d.channels % d.groups != 0 || d.out_channels % d.groups != 0)
    return bad_operands(n, fmt::format("the channels are not multiples of {} groups", d.groups));
  if (weight[1] != d.group_in())
    return bad_operands(n, "the weight is for images of another number of channels");
  return d;
}

Status expect_conv_result(const NodeView& n, size_t i, const ConvDims& d, DType dtype) {
  return expect_type(n, i, {dtype, {d.images, d.out_h, d.out_w, d.out_channels}});
}

ValueId conv_columns(Builder& b, const ConvDims& d, ValueId window_rows) {
  const int64_t m = d.positions();
  if (d.groups == 1) return ops::reshape(b, window_rows, {m, d.inner()});
  const ValueId apart = ops::reshape(b, window_rows, {m, d.taps(), d.groups, d.group_in()});
  return ops::reshape(b, ops::transpose(b, apart, {2, 0, 1, 3}), {d.groups, m, d.inner()});
}

ValueId conv_rows(Builder& b, const ConvDims& d, ValueId columns) {
  const int64_t m = d.positions();
  if (d.groups > 1)
    columns = ops::transpose(b, ops::reshape(b, columns, {d.groups, m, d.taps(), d.group_in()}),
                             {1, 2, 0, 3});
  return ops::reshape(b, columns, {m * d.taps(), d.channels});
}

ValueId conv_matrix(Builder& b, const ConvDims& d, ValueId w) {
  const ValueId apart = ops::reshape(b, w, {d.out_channels, d.group_in(), d.taps()});
  const ValueId turned = ops::transpose(b, apart, {0, 2, 1});
  return d.groups == 1 ? ops::reshape(b, turned, {d.out_channels, d.inner()})
                       : ops::reshape(b, turned, {d.groups, d.group_out(), d.inner()});
}

ValueId conv_weight(Builder& b, const ConvDims& d, ValueId matrix) {
  const ValueId apart = ops::reshape(b, matrix, {d.out_channels, d.taps(), d.group_in()});
  return ops::reshape(b, ops::transpose(b, apart, {0, 2, 1}),
                      {d.out_channels, d.group_in(), d.kernel_h, d.kernel_w});
}

ValueId conv_by_group(Builder& b, const ConvDims& d, ValueId y) {
  const int64_t m = d.positions();
  if (d.groups == 1) return ops::reshape(b, y, {m, d.out_channels});
  return ops::transpose(b, ops::reshape(b, y, {m, d.groups, d.group_out()}), {1, 0, 2});
}

ValueId conv_image(Builder& b, const ConvDims& d, ValueId by_group) {
  if (d.groups > 1) by_group = ops::transpose(b, by_group, {1, 0, 2});
  return ops::reshape(b, by_group, {d.images, d.out_h, d.out_w, d.out_channels});
}

ValueId counts_element(Builder& b, const Type& like, ValueId rows) {
  if (rows == kNoValue) return kNoValue;
  return ops::compare(b, ops::iota(b, {DType::i32, like.shape}, 0), rows, "lt");
}

Values counted_moments(Builder& b, ValueId x, ValueId rows) {
  const Type type = b.type(x);
  const ValueId keep = counts_element(b, type, rows);
  const ValueId count = rows == kNoValue
                            ? number(b, static_cast<double>(type.shape[0]), x)
                            : ops::cast(b, ops::maximum(b, rows, number(b, 1, rows)), type.dtype);
  const auto mean_of = [&](ValueId t) {
    if (keep != kNoValue) t = ops::select(b, keep, t, number(b, 0, t));
    return ops::div(b, ops::reduce_sum(b, t, {0}), count);
  };
  const ValueId mean = mean_of(x), centred = ops::sub(b, x, along_columns(b, mean, type));
  return {mean, mean_of(ops::mul(b, centred, centred))};
}

ValueId counting_gradient(Builder& b, ValueId dy, ValueId y) {
  if (y == kNoValue) return dy;
  return ops::select(b, ops::compare(b, y, number(b, 0, y), "gt"), dy, number(b, 0, dy));
}

BatchNormSums batch_norm_sums(Builder& b, const NodeView& n, ValueId dy) {
  const Type x = n.in("x");
  const ValueId variance = n.input("variance"), rows = n.input("rows");
  const ValueId deviation = ops::sqrt(b, ops::add(b, variance, number(b, n.real("eps"), variance)));
  const ValueId xhat = ops::div(b, ops::sub(b, n.input("x"), along_columns(b, n.input("mean"), x)),
                                along_columns(b, deviation, x));
  const ValueId keep = counts_element(b, x, rows);
  if (keep != kNoValue) dy = ops::select(b, keep, dy, number(b, 0, dy));
  return {ops::reduce_sum(b, ops::mul(b, dy, xhat), {0}), ops::reduce_sum(b, dy, {0}), xhat, dy};
}

}  // namespace hone
