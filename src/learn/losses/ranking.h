// The loss with in-batch negatives (MultipleNegativesRankingLoss): each anchor must be more similar to its own positive
// than to the positives of the other rows and the negatives of all rows.
#pragma once

#include "learn/losses/text_loss.h"

namespace hone {

// The loss f32[]: in.scale times the sum over rows i of the cross entropy with the logits
// o.scale * cosine(anchor i, candidate j), one for each candidate j, and the label i (Henderson et al. 2017, arXiv
// 1705.00652). The candidates are the positives of all rows, then the negatives of all rows, one column after another.
// in.columns: the anchors, the positives, then any number of columns of negatives. Rows with the weight 0 give neither
// a term nor candidates.
ValueId ranking_loss(Builder& b, const TextLossInputs& in, const TextLossOptions& o);

}  // namespace hone
