// A loss for image classification that decides for each class separately whether an image belongs to it, instead of
// choosing one class: timm's BinaryCrossEntropy.
#pragma once

#include "engine/ops/ops.h"

namespace hone {

struct BinaryLossOptions {
  // If above 0: shares above the threshold become 1, other shares become 0. If 0: shares stay as they are.
  double threshold = 0;
  bool sums = false;  // true: the loss of an image is the sum over the classes; false: their mean
};

// Adds the loss f32[] and returns it: scale times the sum over images of the mean (with options.sums: the sum) over
// classes of -(t log p + (1 - t) log(1 - p)), with p = sigmoid(logit) and t the share of the class. logits, shares:
// f32[B,V] for B images and V classes; a share is from 0 to 1. scale: f32[]. An image whose shares are all 0 does not
// count. Only the logits have a gradient.
ValueId binary_cross_entropy(Builder& b, ValueId logits, ValueId shares, ValueId scale,
                             const BinaryLossOptions& options);

}  // namespace hone
