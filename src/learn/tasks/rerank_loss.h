// The losses of cross-encoders, with the names and formulas of sentence-transformers 6.
#pragma once

#include <string>

#include "learn/models/family.h"

namespace hone {

struct RerankLossInputs {
  HeadLayer layer;  // the model's head for the pairs of R rows, `texts` pairs for each row
  // labels: f32[R * labels_of_row]. weight: f32[R], 1 for a row and 0 for padding. scale: f32[], factor of the loss.
  ValueId labels, weight, scale;
  // texts: number of pairs of a row. labels_of_row: number of labels of a row.
  int64_t texts = 1, labels_of_row = 1;
};

// Adds the loss f32[]: scale times the sum over rows of the row's loss.
//   BinaryCrossEntropyLoss  binary cross entropy of the logit x and the label y, from 0 to 1:
//                           -(pos_weight y log sigmoid(x) + (1 - y) log(1 - sigmoid(x)))
//   MSELoss                 squared difference of the logit and the label
//   CrossEntropyLoss        cross entropy of the logits of all classes; the label is the number of the right class
//   MarginMSELoss           the mean over k of (m_k - w_k)^2, for the texts k after the first one. m_k is the logit of
//                           the first text minus the logit of text k. With texts - 1 labels a row, w_k are the labels;
//                           with `texts` labels a row, w_k is the first label minus label k (Hofstaetter et al. 2020,
//                           arXiv 2010.02666)
ValueId rerank_loss(Builder& b, const std::string& loss, const RerankLossInputs& in,
                    double pos_weight);

}  // namespace hone
