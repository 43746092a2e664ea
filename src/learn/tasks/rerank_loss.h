// The losses of cross-encoders, with the names and formulas of sentence-transformers 6.
#pragma once

#include <string>

#include "learn/models/family.h"

namespace hone {

struct RerankLossInputs {
  HeadLayer layer;                // of pairs, `texts` for each row
  ValueId labels, weight, scale;  // f32[R * labels_of_row], f32[R] (0: no row), f32[]
  int64_t texts = 1, labels_of_row = 1;
};

// The loss f32[]: scale * a sum over rows, each a mean over its texts.
//   BinaryCrossEntropyLoss  of one logit and a label from 0 to 1; labels count pos_weight times as much
//   MSELoss                 of one logit and a score
//   CrossEntropyLoss        of several logits and the number of a class
//   MarginMSELoss           of the differences between the first text's logit and those of the others, and of their
//                           scores, or given differences (Hofstaetter et al. 2020, arXiv 2010.02666)
ValueId rerank_loss(Builder& b, const std::string& loss, const RerankLossInputs& in,
                    double pos_weight);

}  // namespace hone
