// Checks that the files of a model fit together, for `hone check`.
#pragma once

#include "learn/check/finding.h"
#include "learn/pretrained/pretrained.h"

namespace hone {

// Compares config.json, weights and tokenizer. Adds findings about tensors that are missing, unexpected or of the wrong
// shape, and about values that are NaN or infinite. Needs memory for the largest tensor in float32.
void check_model(const Pretrained& model, Findings& findings);

}  // namespace hone
