// Builds programs for tasks on packed tokens: the sequences of a micro-batch follow one another without padding. T:
// tokens of a micro-batch (in an encoder-decoder: of its targets), S: sequences, Te: tokens of the encoder. These
// programs have the inputs:
//
//   ids, positions                      i32[T]
//   cu_seqlens                          i32[S+1]    sequence s has the tokens cu_seqlens[s] .. cu_seqlens[s+1] - 1
//   labels                              of the type that the task gives
//   encoder_ids, encoder_positions      i32[Te]     if the shape has source tokens
//   encoder_cu_seqlens                  i32[S+1]    if the shape has source tokens
//   sample_ids, encoder_sample_ids      i64[T], i64[Te]   only in training
//   rng                                 i64[2]      only in training: {seed, step}
//   row_lengths                         f32[T]      only in training with NEFTune: length of each token's sequence
//   scale                               f32[]       only in training: factor of the loss
#pragma once

#include "learn/data/batches/batch.h"
#include "learn/models/family.h"

namespace hone {

// A program under construction.
struct TokenGraph {
  // Adds the inputs listed above and the model's states. `labels`: type of the input labels. `train`: true: a training
  // program; false: an evaluation program. A task that needs more inputs of the model (token_types, label_rows) adds
  // them and sets them in `model`.
  TokenGraph(const ModelConfig& config, const BatchShape& shape, const std::string& name,
             bool train, const Type& labels);
  TokenGraph(const TokenGraph&) = delete;

  Program program;
  Builder b;
  ModelGraph model;
  ValueId labels, scale;  // outside training, `scale` is the constant 1
};

// Adds the inputs above to `g`, except scale. Returns the input labels. `labels`: type of this input; null: the program
// has no such input, and kNoValue is returned.
ValueId add_token_inputs(ModelGraph& g, const BatchShape& shape, const Type* labels = nullptr);

// Whether the model has more than one token type (type_vocab_size), so its programs have the input token_types.
bool has_token_types(const ModelConfig& config);

// Returns T: the number of target tokens if the shape has source tokens, else the number of its tokens.
int64_t label_tokens(const BatchShape& shape);

// Adds the model's body, its head and the cross entropy of the labels. Each row of the head's logits has one label.
// Returns the program, which is moved out of `g`. nll is the negative log-likelihood of a label. The router loss exists
// only in models with mixtures of experts.
//   training output     loss f32[] = scale * sum of nll + router loss * number of labels of the micro-batch * scale
//   evaluation outputs  nll f32 and correct i32, with a value for each row of the logits. correct is 1 if the label has
//                       the largest logit, else 0. nll is 0 for a row without a label.
Program finish_token_loss(TokenGraph& g, bool train, double label_smoothing);
// The whole program of a model without an encoder, with labels i32[T].
Program token_loss_program(const ModelConfig& config, const BatchShape& shape,
                           const std::string& name, bool train, double label_smoothing);

}  // namespace hone
