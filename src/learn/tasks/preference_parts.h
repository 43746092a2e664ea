// Functions that build parts of the programs of preference tasks.
#pragma once

#include "learn/harness/token_graph.h"

namespace hone {

// The config with all dropout probabilities set to 0, including that of its adapter, as with TRL's disable_dropout.
ModelConfig without_any_dropout(ModelConfig config);

// A copy of the shape with twice the number of sequences, for rows of two sequences each.
BatchShape shape_of_pairs(BatchShape shape);

struct AnswerScores {
  // f32[sequences]: for each sequence the sum of the log-probabilities of its labels, each times its weight.
  ValueId logps;
  ValueId correct;  // i32[T]: 1 if the label of the token has the largest logit, else 0
};
// Adds the model's body and head to the program, and sums the log-probabilities of g.labels by sequence. T: tokens.
// `answers` i32[T]: the index of the sequence whose sum the label of each token belongs to; below 0: no sum. `weights`
// f32[T]: the weight of each label; kNoValue: all are 1. The program never stores the logits of all tokens at once.
AnswerScores answer_scores(TokenGraph& g, ValueId answers, ValueId weights = kNoValue);

// log(1 / (1 + exp(-x))).
double log_sigmoid(double x);

}  // namespace hone
