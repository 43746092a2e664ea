// Functions that build parts of the programs of preference tasks.
#pragma once

#include "learn/harness/token_graph.h"

namespace hone {

// The config with all dropout probabilities set to 0, also that of an adapter, as TRL's disable_dropout.
ModelConfig without_any_dropout(ModelConfig config);

// The shape with twice the number of sequences: for rows of two sequences each.
BatchShape shape_of_pairs(BatchShape shape);

struct AnswerScores {
  ValueId logps;    // f32[sequences]: sum of the log-probabilities of the labels of each sequence
  ValueId correct;  // i32[T]: 1 if the label of the token has the largest logit, else 0
};
// Adds the model's body and head, and sums the log-probabilities of g.labels by sequence. `answers` i32[T]: the
// sequence to which the label of each token counts; below 0: it does not count. `weights` f32[T]: factors of the
// labels; kNoValue: all are 1. Does not store the logits of the vocabulary.
AnswerScores answer_scores(TokenGraph& g, ValueId answers, ValueId weights = kNoValue);

// log(1 / (1 + exp(-x))).
double log_sigmoid(double x);

}  // namespace hone
