// The losses of cross-encoders, with the names and formulas of sentence-transformers 6.
#pragma once

#include <string>

#include "learn/models/family.h"

namespace hone {

struct RerankLossInputs {
  HeadLayer layer;  // the model's head for the pairs of R rows, `texts` pairs for each row
  // labels: f32[R * labels_of_row]. weight: f32[R], 1 for a row and 0 for no row. scale: f32[], factor of the loss.
  ValueId labels, weight, scale;
  int64_t texts = 1, labels_of_row = 1;
};

// Adds the loss f32[]: scale times the sum over rows of the row's loss.
//   BinaryCrossEntropyLoss  one logit and a label from 0 to 1; the part of the label 1 counts pos_weight times
//   MSELoss                 squared difference of one logit and a score
//   CrossEntropyLoss        several logits and the number of a class
//   MarginMSELoss           mean over the texts after the first of the squared difference of two margins: the first
//                           text's logit minus this text's logit, and the same margin of the scores; with texts - 1
//                           labels a row, the labels are the margins (Hofstaetter et al. 2020, arXiv 2010.02666)
ValueId rerank_loss(Builder& b, const std::string& loss, const RerankLossInputs& in,
                    double pos_weight);

}  // namespace hone
