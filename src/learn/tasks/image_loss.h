// The loss of images by one yes or no for each class, instead of one choice among all classes: timm's BinaryCrossEntropy.
#pragma once

#include "engine/ops/ops.h"

namespace hone {

struct BinaryLossOptions {
  double threshold = 0;  // above 0: shares above it count as 1, the others as 0
  bool sums = false;     // over the classes; false: their mean
};

// loss = scale * the sum over images of the mean over classes of -(t log p + (1 - t) log(1 - p)), p = sigmoid(logit).
// logits, shares t f32[B,V], scale f32[] -> f32[]. An image whose shares are all 0 does not count. Logits alone have a
// gradient.
ValueId binary_cross_entropy(Builder& b, ValueId logits, ValueId shares, ValueId scale,
                             const BinaryLossOptions& options);

}  // namespace hone
