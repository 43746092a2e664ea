// Shared parts of BERT and RoBERTa (Devlin et al. 2019, arXiv 1810.04805; Liu et al. 2019, arXiv
// 1907.11692): learned positions and token types, blocks whose norms come after the residual sum,
// biases everywhere, weights [out, in]. Names are Transformers'; names of the body begin with the
// family's name and a dot, except in a checkpoint of the body alone.
#pragma once

#include "learn/models/family.h"

namespace hone {

// Reads the common fields from BERT's keys. Refuses decoders, relative positions, and activations
// that hone does not compute.
Status read_encoder_config(ModelConfig& c);

std::string encoder_prefix(const ModelConfig& c);  // "bert.", or "" for the body alone

struct EncoderStyle {
  // The position of a sequence's first token in the table; the row before it belongs to padding.
  int64_t first_position = 0;
  const char* decoder = "";  // the name of the masked-language-model head's matrix
};
// -> [T,C]; where sequences are classified, of the first token of each alone, [S,C].
ValueId encoder_body(ModelGraph& g, const EncoderStyle& style = {});
// The matrix of a masked-language-model head: the words when they are tied, else one of its own.
ValueId encoder_decoder_matrix(ModelGraph& g, const EncoderStyle& style);
// Its bias [V]. Transformers reads `tied_name` or, of a decoder tied to nothing, `own_name`.
ValueId encoder_decoder_bias(ModelGraph& g, const char* tied_name, const char* own_name);

// The last layer of a classifier, [N,C] -> [N,labels].
HeadLayer encoder_classifier(ModelGraph& g, const std::string& at, ValueId x);

// By the weights `at`.weight and `at`.bias; older checkpoints call them gamma and beta.
ValueId encoder_norm(ModelGraph& g, const std::string& at, ValueId x);

std::string hidden_act_of(const ModelConfig& c);
double classifier_dropout_of(const ModelConfig& c);  // classifier_dropout, else the hidden one

// The family with what all of them have.
Family encoder_family(Family f);

}  // namespace hone
