// A loss for image classification that decides for each class separately whether an image belongs to it, instead of
// choosing one class: timm's BinaryCrossEntropy.
#pragma once

#include "engine/ops/ops.h"

namespace hone {

struct BinaryLossOptions {
  double threshold = 0;  // if above 0: shares above the threshold become 1, other shares become 0
  bool sums = false;     // true: sum over the classes; false: mean over the classes
};

// The loss f32[]: scale times the sum over images of the mean over classes of -(t log p + (1 - t) log(1 - p)), with
// p = sigmoid(logit) and t the share of the class. logits, shares: f32[B,V] for B images and V classes. scale: f32[].
// An image whose shares are all 0 does not count. Only the logits have a gradient.
ValueId binary_cross_entropy(Builder& b, ValueId logits, ValueId shares, ValueId scale,
                             const BinaryLossOptions& options);

}  // namespace hone
