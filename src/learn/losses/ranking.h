// In-batch negatives: each anchor chooses its own positive among the texts of all rows.
#pragma once

#include "learn/losses/text_loss.h"

namespace hone {

// Cross entropy of scale * cosine(anchor i, candidate j), where the candidates are the positives of all rows, then
// the negatives of all rows column by column, and positive i is right (Henderson et al. 2017, arXiv 1705.00652).
ValueId ranking_loss(Builder& b, const TextLossInputs& in, const TextLossOptions& o);

}  // namespace hone
