// A model's files against each other.
#pragma once

#include "learn/check/finding.h"
#include "learn/pretrained/pretrained.h"

namespace hone {

// config.json, weights and tokenizer against each other: missing, unexpected and wrongly shaped
// tensors, values that are NaN or infinite. Memory: the largest tensor in float32.
void check_model(const Pretrained& model, Findings& findings);

}  // namespace hone
