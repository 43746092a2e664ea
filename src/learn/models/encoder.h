// What BERT and RoBERTa share (Devlin et al. 2019, arXiv 1810.04805; Liu et al. 2019, arXiv
// 1907.11692): learned positions and token types, blocks whose norms come after the residual sum,
// biases everywhere, weights [out, in]. Names are Transformers'; those of the body begin with the
// family's name and a dot, except in a checkpoint of the body alone.
#pragma once

#include "learn/models/family.h"

namespace hone {

// The common fields from BERT's keys; what an encoder cannot be (a decoder, relative positions) and
// activations that hone does not compute are refused.
Status read_encoder_config(ModelConfig& c);

// Collects the weights of linear layers, norms and tables, initialised as Transformers does.
struct ParamList {
  explicit ParamList(const ModelConfig& c);
  void linear(const std::string& at, int64_t in, int64_t out);  // .weight [out,in], .bias [out]
  void norm(const std::string& at, int64_t channels);           // .weight, .bias
  void table(const std::string& name, int64_t rows, int64_t channels, int64_t zero_row = -1);
  void bias(const std::string& name, int64_t n);

  std::vector<ParamSpec> list;
  double std;            // of normal weights
  bool of_head = false;  // what is added from now on belongs to a head
};

std::string encoder_prefix(const ModelConfig& c);  // "bert.", or "" for the body alone
// The body's weights; zero_row_of_positions as in ParamSpec.
ParamList encoder_params(const ModelConfig& c, int64_t zero_row_of_positions = -1);
// -> [T,C]; where sequences are classified, of the first token of each alone, [S,C]. The first
// token of a sequence has position `offset` in the table.
ValueId encoder_body(ModelGraph& g, int64_t offset = 0);

// By the weights `at`.weight and `at`.bias:
ValueId linear_of(ModelGraph& g, const std::string& at, ValueId x);
ValueId norm_of(ModelGraph& g, const std::string& at, ValueId x);
// activation(linear): one of config.json's hidden_act, under Transformers' names.
ValueId activated_linear_of(ModelGraph& g, const std::string& at, ValueId x,
                            const std::string& hidden_act);

std::string hidden_act_of(const ModelConfig& c);
double classifier_dropout_of(const ModelConfig& c);  // classifier_dropout, else the hidden one

// Names in other checkpoints: with and without the prefix, gamma and beta of norms, and the pairs
// of `same`, whose names stand for one weight.
std::vector<std::string> encoder_other_names(
    const ModelConfig& c, const std::string& name,
    const std::vector<std::pair<std::string, std::string>>& same);

}  // namespace hone
