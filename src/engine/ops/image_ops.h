// Operations on images; ops.h has the other operations. Shapes: B images of H rows and W columns with C channels, in
// the order [B,H,W,C]. K: channels of a convolution's result. H', W': rows and columns of a result. T: rows of a
// matrix [T,C] whose rows are the pixels of all images.
#pragma once

#include "engine/ops/ops.h"

namespace hone::ops {

// The windows of a convolution or a pool. stride and dilation: {rows, columns}. padding: {top, left, bottom, right}; a
// convolution reads the padding as zeros, and max_pool2d() ignores it.
struct Windows {
  std::vector<int64_t> stride{1, 1}, padding{0, 0, 0, 0}, dilation{1, 1};
};

// Convolution: x [B,H,W,C], w [K,C/groups,h,w] (PyTorch's order), bias [K] or kNoValue -> [B,H',W',K] with
// H' = (H + top + bottom - dilation (h - 1) - 1) / stride + 1, rounded down; W' likewise.
ValueId conv2d(Builder& b, ValueId x, ValueId w, ValueId bias, const Windows& windows,
               int64_t groups = 1);
// The largest element of each window of `kernel` = {h, w}: x [B,H,W,C] -> [B,H',W',C]. If several elements are the
// largest, the gradient goes to the first of them.
ValueId max_pool2d(Builder& b, ValueId x, std::vector<int64_t> kernel, const Windows& windows);
// The mean of each window: its sum, divided by h * w. Without counts_padding the sum is divided by the number of the
// window's elements that are inside the image. x [B,H,W,C] -> [B,H',W',C].
ValueId avg_pool2d(Builder& b, ValueId x, std::vector<int64_t> kernel, const Windows& windows,
                   bool counts_padding = true);
ValueId global_pool(Builder& b, ValueId x);  // means over rows and columns: [B,H,W,C] -> [B,C]

// Batch norm in training (Ioffe and Szegedy, arXiv 1502.03167): x [T,C], gamma, beta [C] -> y [T,C], and the mean and
// the biased variance (divided by the number of rows) of each column.
struct BatchNorm {
  ValueId y, mean, variance;
};
struct BatchNormOptions {
  double eps = 1e-5;
  // rows i32[]: the statistics are of the first `rows` rows, and the other rows have no gradient; kNoValue: all rows.
  // residual [T,C] is added to y; kNoValue: none.
  ValueId rows = kNoValue, residual = kNoValue;
  bool relu = false;  // negative elements of y, after the residual is added, become 0
};
BatchNorm batch_norm(Builder& b, ValueId x, ValueId gamma, ValueId beta, const BatchNormOptions& o);
// The mean and the biased variance of each column of x [T,C] over the first `rows` rows (i32[]; kNoValue: all rows).
std::pair<ValueId, ValueId> column_moments(Builder& b, ValueId x, ValueId rows);
// x * scale + shift for each column: x [T,C], scale [C], shift [C]; without shift x * scale.
ValueId affine_channels(Builder& b, ValueId x, ValueId scale, ValueId shift = kNoValue);
// Stochastic depth (Huang et al., arXiv 1603.09382): drops whole images. x [T,C] has B images of T / B rows each. The
// rows of an image become 0 with probability p, else x / (1 - p). rng i64[2] = {seed, step}, image_ids i64[B]; `key`
// names the place in the model, so that each place has different random numbers.
ValueId drop_path(Builder& b, ValueId x, ValueId rng, ValueId image_ids, double p,
                  const std::string& key);
// Cross-entropy with soft targets: nll[t] = -(the sum over classes of targets[t] log softmax(logits[t])), loss = scale
// * the sum of nll. logits, targets [T,V], scale []; a row of targets is a weight for each class, for example
// from label smoothing or mixup. loss [], nll [T].
struct SoftCrossEntropy {
  ValueId loss, nll;
};
SoftCrossEntropy soft_cross_entropy(Builder& b, ValueId logits, ValueId targets, ValueId scale);

}  // namespace hone::ops
