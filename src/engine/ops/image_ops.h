// Operations on images, beside those of ops.h. Shapes: B images of H rows and W columns, C channels, in
// the order [B,H,W,C]; K channels of a convolution's result; P = H'W' positions of a window.
#pragma once

#include "engine/ops/ops.h"

namespace hone::ops {

// The steps and the frame of windows over the rows and columns of images. Padding is top, left, bottom,
// right: zeros of a convolution, nothing of a maximum.
struct Windows {
  std::vector<int64_t> stride{1, 1}, padding{0, 0, 0, 0}, dilation{1, 1};
};

// x [B,H,W,C], w [K,C/groups,h,w] as PyTorch keeps it, bias [K] or none -> [B,H',W',K] with
// H' = (H + top + bottom - dilation (h - 1) - 1) / stride + 1.
ValueId conv2d(Builder& b, ValueId x, ValueId w, ValueId bias, const Windows& windows,
               int64_t groups = 1);
// The largest element of each window of `kernel` = {h, w}: x [B,H,W,C] -> [B,H',W',C]. Its gradient
// reaches the first of equal ones.
ValueId max_pool2d(Builder& b, ValueId x, std::vector<int64_t> kernel, const Windows& windows);
// Sums over each window, over h w or, without counts_padding, over its elements inside the image.
ValueId avg_pool2d(Builder& b, ValueId x, std::vector<int64_t> kernel, const Windows& windows,
                   bool counts_padding = true);
ValueId global_pool(Builder& b, ValueId x);  // means over rows and columns: [B,H,W,C] -> [B,C]

// Batch norm in training (Ioffe and Szegedy, arXiv 1502.03167): x [T,C], gamma, beta [C] ->
// y [T,C], mean, variance [C] of the columns, the biased variance. With `rows` i32[] the statistics are those
// of the first rows, and the others have no gradient. `residual` [T,C] is added to y, then `relu` replaces
// negative sums by 0.
struct BatchNorm {
  ValueId y, mean, variance;
};
struct BatchNormOptions {
  double eps = 1e-5;
  ValueId rows = kNoValue, residual = kNoValue;
  bool relu = false;
};
BatchNorm batch_norm(Builder& b, ValueId x, ValueId gamma, ValueId beta, const BatchNormOptions& o);
// Mean and biased variance of each column of x [T,C] over the first `rows` i32[] rows, or all.
std::pair<ValueId, ValueId> column_moments(Builder& b, ValueId x, ValueId rows);
// x [T,C] scale [C] + shift [C]; shift may be absent.
ValueId affine_channels(Builder& b, ValueId x, ValueId scale, ValueId shift = kNoValue);
// Stochastic depth (Huang et al., arXiv 1603.09382): whole images of x [T,C], of T / B rows each, become
// 0 with probability p, the others x / (1 - p). rng i64[2], image_ids i64[B]; `key` names the place.
ValueId drop_path(Builder& b, ValueId x, ValueId rng, ValueId image_ids, double p,
                  const std::string& key);
// loss = scale * the sum of nll, nll [T] = -(the sum over classes of targets log softmax(logits)). logits,
// targets [T,V]: shares of classes, as label smoothing and mixing of images give them.
struct SoftCrossEntropy {
  ValueId loss, nll;
};
SoftCrossEntropy soft_cross_entropy(Builder& b, ValueId logits, ValueId targets, ValueId scale);

}  // namespace hone::ops
