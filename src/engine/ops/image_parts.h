// Shared parts of the image ops (image_ops.h): windows of convolutions and pools, and batch norm.
#pragma once

#include "engine/ops/image_ops.h"
#include "engine/ops/support.h"

namespace hone {

// The windows over images [B,H,W,C]. Suffix _h: along rows (height), _w: along columns (width).
struct WindowDims {
  int64_t images = 0, height = 0, width = 0, channels = 0;  // B, H, W, C
  // kernel: the elements of a window. out: the windows of an image (H' and W').
  int64_t kernel_h = 0, kernel_w = 0, out_h = 0, out_w = 0;
  // top, left: the padding before the first row and the first column.
  int64_t stride_h = 1, stride_w = 1, top = 0, left = 0, dilation_h = 1, dilation_w = 1;

  int64_t taps() const { return kernel_h * kernel_w; }          // elements of a window
  int64_t positions() const { return images * out_h * out_w; }  // windows of all images
  int64_t pixels() const { return images * height * width; }    // pixels of all images
};

// The attributes stride, padding and dilation.
std::vector<AttrSpec> window_attrs();
// The windows over images of shape [B,H,W,C], by the node's attributes. H1203: an attribute has a wrong number of
// elements or is out of range, a window is larger than the padded image, or the images have 2^30 pixels or more.
Result<WindowDims> window_dims(const NodeView& n, const Shape& images, int64_t kernel_h,
                               int64_t kernel_w);
// The windows of a pool, whose kernel_h and kernel_w are the attribute kernel. H1203: as for window_dims().
Result<WindowDims> pool_dims(const NodeView& n, const Shape& images);
// Checks that the padding is so small that each window of a pool has a pixel of the image; else H1203.
Status expect_has_pixels(const NodeView& n, const WindowDims& d);
// The type of a pool's result. H1203: the operand or an attribute does not fit.
Result<Types> infer_pool2d(const NodeView& n);
// The attributes stride, padding and dilation for a node; default values are left out.
Attrs attrs_of(const ops::Windows& w);
// The attributes stride, padding and dilation of the node; default values are left out.
Attrs window_attrs_of(const NodeView& n);

// i32[positions * taps]: the pixel of each element of each window, as an index of a row of the images [B*H*W,C]; -1 in
// the padding.
ValueId window_pixels(Builder& b, const WindowDims& d);
// Gathers x [B,H,W,C] by window_pixels() -> [positions * taps, C]; zeros in the padding.
ValueId window_rows(Builder& b, ValueId x, ValueId pixels);
// Divides `sums` over windows [positions,C] by the number of each window's elements: of all elements if attribute
// counts_padding is true, else of those inside the image.
ValueId window_means(Builder& b, const NodeView& n, const WindowDims& d, ValueId pixels,
                     ValueId sums);

// The dimensions of a convolution as matrix products: M = positions(), g = groups, J = inner() = taps * C / g.
struct ConvDims : WindowDims {
  int64_t out_channels = 0, groups = 1;                        // K, g
  int64_t group_in() const { return channels / groups; }       // C / g
  int64_t group_out() const { return out_channels / groups; }  // K / g
  int64_t inner() const { return taps() * group_in(); }
};
// The dimensions, from the shapes of images [B,H,W,C] and of a weight [K,C/g,h,w]. H1203: the shapes or
// attributes do not fit.
Result<ConvDims> conv_dims(const NodeView& n, const Shape& images, const Shape& weight);
// Checks that operand i (dy of a gradient op) has the type of the convolution's result; else H1203.
Status expect_conv_result(const NodeView& n, size_t i, const ConvDims& d, DType dtype);
// Reorders window_rows() [M * taps, C] to the operand of a matrix product, [g,M,J]; [M,J] if there is one group.
ValueId conv_columns(Builder& b, const ConvDims& d, ValueId window_rows);
// The inverse of conv_columns().
ValueId conv_rows(Builder& b, const ConvDims& d, ValueId columns);
// Reorders a weight [K,C/g,h,w] to [g,K/g,J]; [K,J] if there is one group.
ValueId conv_matrix(Builder& b, const ConvDims& d, ValueId w);
// The inverse of conv_matrix().
ValueId conv_weight(Builder& b, const ConvDims& d, ValueId matrix);
// Reorders a result [B,H',W',K] to [g,M,K/g]; [M,K] if there is one group.
ValueId conv_by_group(Builder& b, const ConvDims& d, ValueId y);
// The inverse of conv_by_group().
ValueId conv_image(Builder& b, const ConvDims& d, ValueId by_group);

// bool [T,C] (the shape of `like`): whether the element is in the first `rows` rows. Returns kNoValue if `rows` is
// kNoValue: all elements count.
ValueId counts_element(Builder& b, const Type& like, ValueId rows);
// {mean, biased variance} of each column of x [T,C] over the first `rows` rows (i32[]; kNoValue: all rows). Both are 0 if
// `rows` is 0, as on a rank of several that has no row in a step.
Values counted_moments(Builder& b, ValueId x, ValueId rows);
// The gradient before relu: dy if y > 0, else 0, elementwise. y is the result of a batch norm with relu; kNoValue:
// there is no relu, and dy is returned.
ValueId counting_gradient(Builder& b, ValueId dy, ValueId y);
// The parts of a batch norm's gradient. dgamma, dbeta [C]: the gradients of gamma and beta. xhat [T,C]: (x - mean) /
// sqrt(variance + eps). counted [T,C]: dy, but 0 in rows that the statistics leave out.
struct BatchNormSums {
  ValueId dgamma, dbeta, xhat, counted;
};
// The node has operands x, mean, variance and rows?, and attribute eps. `dy` is counting_gradient()'s result.
BatchNormSums batch_norm_sums(Builder& b, const NodeView& n, ValueId dy);

}  // namespace hone
