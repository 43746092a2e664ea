// A program under construction with the inputs that every task on packed tokens has:
//
//   ids, positions i32[T]; cu_seqlens i32[S+1]; labels, of the given type; for training also
//   sample_ids i64[T], rng i64[2] = {seed, step}, scale f32[]
//   shapes with source tokens: also encoder_ids, encoder_positions i32[Te],
//   encoder_cu_seqlens i32[S+1], in training encoder_sample_ids i64[Te]; T is the target tokens
#pragma once

#include "learn/data/batches/batch.h"
#include "learn/models/family.h"

namespace hone {

struct TokenGraph {
  // Adds the inputs, with `labels` of the given type, and the model's states. The task adds other
  // inputs of the model (token_types, label_rows) to `model`.
  TokenGraph(const ModelConfig& config, const BatchShape& shape, const std::string& name,
             bool train, const Type& labels);
  TokenGraph(const TokenGraph&) = delete;

  Program program;
  Builder b;
  ModelGraph model;
  ValueId labels, scale;  // scale: 1 outside training
};

// Adds these inputs except scale; without a type no labels. Returns the labels.
ValueId add_token_inputs(ModelGraph& g, const BatchShape& shape, const Type* labels = nullptr);

// Whether the model has an embedding for each type of token, so that its programs have the input token_types.
bool has_token_types(const ModelConfig& config);

// Tokens that the head sees: of the only side, or of the targets.
int64_t label_tokens(const BatchShape& shape);

// Adds body, head and the loss of predicting `labels`, one for each row of the head. Training has
// the output `loss` = scale * sum of nll, + router_loss times the micro-batch's share of the step's labels;
// evaluation `nll` f32 (0 without a label) and `correct` i32 of each label.
Program finish_token_loss(TokenGraph& g, bool train, double label_smoothing);
// The whole program, for labels i32[T], one for each token of the only side.
Program token_loss_program(const ModelConfig& config, const BatchShape& shape,
                           const std::string& name, bool train, double label_smoothing);

}  // namespace hone
