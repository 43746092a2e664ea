// Parts of the programs of preference tasks.
#pragma once

#include "learn/harness/token_graph.h"

namespace hone {

// The config with every dropout 0, that of an adapter too, as TRL's disable_dropout.
ModelConfig without_any_dropout(ModelConfig config);

// The shape of a program whose rows have two sequences each.
BatchShape shape_of_pairs(BatchShape shape);

struct AnswerScores {
  ValueId logps;    // f32[sequences]: the sum of the labels' log-probabilities
  ValueId correct;  // i32[T]
};
// Body, head and the log-probabilities of g.labels, which `answers` i32[T] adds up by sequence; < 0: left
// out. `weights` f32[T] or none: factors of the labels. No logits of the vocabulary are held.
AnswerScores answer_scores(TokenGraph& g, ValueId answers, ValueId weights = kNoValue);

// log(1 / (1 + exp(-x))) of a number.
double log_sigmoid(double x);

}  // namespace hone
