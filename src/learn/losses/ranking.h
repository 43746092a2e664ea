// The loss with in-batch negatives (MultipleNegativesRankingLoss): each anchor must prefer its own positive to the
// texts of all other rows.
#pragma once

#include "learn/losses/text_loss.h"

namespace hone {

// The loss f32[]: cross entropy with the logits o.scale * cosine(anchor i, candidate j) and the label i. The
// candidates are the positives of all rows, then the negatives of all rows, one column after another (Henderson et al.
// 2017, arXiv 1705.00652). in.columns: the anchors, the positives, then columns of negatives.
ValueId ranking_loss(Builder& b, const TextLossInputs& in, const TextLossOptions& o);

}  // namespace hone
