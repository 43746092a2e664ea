// Shared parts of the ops over windows of images.
#pragma once

#include "engine/ops/image_ops.h"
#include "engine/ops/support.h"

namespace hone {

// Windows of images [B,H,W,C].
struct WindowDims {
  int64_t images = 0, height = 0, width = 0, channels = 0;  // of the images
  int64_t kernel_h = 0, kernel_w = 0, out_h = 0, out_w = 0;
  int64_t stride_h = 1, stride_w = 1, top = 0, left = 0, dilation_h = 1, dilation_w = 1;

  int64_t taps() const { return kernel_h * kernel_w; }
  int64_t positions() const { return images * out_h * out_w; }
  int64_t pixels() const { return images * height * width; }
};

// The attributes stride, padding and dilation.
std::vector<AttrSpec> window_attrs();
// The windows of images of this shape. Errors: an attribute of another number of elements or out of range, windows
// that are larger than the padded image, or 2^30 pixels and more.
Result<WindowDims> window_dims(const NodeView& n, const Shape& images, int64_t kernel_h,
                               int64_t kernel_w);
// {kernel_h, kernel_w} of attribute kernel.
Result<WindowDims> pool_dims(const NodeView& n, const Shape& images);
// An error where a window of a pool would be all padding.
Status expect_has_pixels(const NodeView& n, const WindowDims& d);
// The type of a pool's result.
Result<Types> infer_pool2d(const NodeView& n);
Attrs attrs_of(const ops::Windows& w);
// Those attributes of the node.
Attrs window_attrs_of(const NodeView& n);

// i32[positions * taps]: the pixel of each element of each window, as a row of images [B*H*W,C]; -1 in the
// padding.
ValueId window_pixels(Builder& b, const WindowDims& d);
// Rows of those pixels: x [B,H,W,C] -> [positions * taps, C]; zeros in the padding.
ValueId window_rows(Builder& b, ValueId x, ValueId pixels);
// Sums over windows [M,C] by the number of their elements, by attribute counts_padding.
ValueId window_means(Builder& b, const NodeView& n, const WindowDims& d, ValueId pixels,
                     ValueId sums);

// A convolution's dimensions, with the order of matrices: M positions, g groups, J = taps * C / g.
struct ConvDims : WindowDims {
  int64_t out_channels = 0, groups = 1;
  int64_t group_in() const { return channels / groups; }
  int64_t group_out() const { return out_channels / groups; }
  int64_t inner() const { return taps() * group_in(); }
};
// The dimensions by the shapes of images and of a weight [K,C/g,h,w].
Result<ConvDims> conv_dims(const NodeView& n, const Shape& images, const Shape& weight);
// The node's gradient ops have the same; `dy` must be its result.
Status expect_conv_result(const NodeView& n, size_t i, const ConvDims& d, DType dtype);
// The windows of x [B,H,W,C] as [g,M,J], or [M,J] of one group; and back as [M * taps, C].
ValueId conv_columns(Builder& b, const ConvDims& d, ValueId window_rows);
ValueId conv_rows(Builder& b, const ConvDims& d, ValueId columns);
// A weight [K,C/g,h,w] as [g,K/g,J], or [K,J] of one group; and back.
ValueId conv_matrix(Builder& b, const ConvDims& d, ValueId w);
ValueId conv_weight(Builder& b, const ConvDims& d, ValueId matrix);
// A result [B,H',W',K] as [g,M,K/g], or [M,K] of one group; and back.
ValueId conv_by_group(Builder& b, const ConvDims& d, ValueId y);
ValueId conv_image(Builder& b, const ConvDims& d, ValueId by_group);

// Whether each element of [T,C] is in the first `rows` rows; kNoValue: all are.
ValueId counts_element(Builder& b, const Type& like, ValueId rows);
// The mean and the biased variance of each column of x [T,C] over the first `rows` rows.
Values counted_moments(Builder& b, ValueId x, ValueId rows);
// dy where y, the result of a batch norm with relu, is above 0, else 0; y may be absent.
ValueId counting_gradient(Builder& b, ValueId dy, ValueId y);
// The sums over the rows of a batch norm's gradient, by its operands x, mean, variance and rows and attribute eps;
// `dy` counts already, `counted` is 0 in rows that do not.
struct BatchNormSums {
  ValueId dgamma, dbeta, xhat, counted;
};
BatchNormSums batch_norm_sums(Builder& b, const NodeView& n, ValueId dy);

}  // namespace hone
