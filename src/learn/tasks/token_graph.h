// A program under construction with the inputs that those of every task have (task_settings.h).
#pragma once

#include "learn/tasks/task_settings.h"

namespace hone {

struct TokenGraph {
  // Adds the inputs, `labels` with the given type among them, and the model's states. What the
  // model has besides (token_types, label_rows) is for the task to add to `model`.
  TokenGraph(const ModelConfig& config, const BatchShape& shape, const std::string& name,
             bool train, const Type& labels);
  TokenGraph(const TokenGraph&) = delete;

  Program program;
  Builder b;
  ModelGraph model;
  ValueId labels, scale;  // scale: 1 outside training
};

// Body, head and the loss of predicting `labels`, one for each row of the head: in training the
// output `loss`, else `nll` f32 and `correct` i32 of each label.
Program finish_token_loss(TokenGraph& g, bool train, double label_smoothing);

}  // namespace hone
