// Shared parts of encoders such as BERT (Devlin et al. 2019, arXiv 1810.04805; Liu et al. 2019, arXiv 1907.11692).
// They have learned positions and token types, layer norms after the residual sums, biases in all layers, and weights
// [out, in]. Names are those of Transformers; names of the body begin with the family's prefix, except in a checkpoint
// of the body alone. An EncoderStyle describes the differences between families. Letters are those of graph.h.
#pragma once

#include "learn/models/family.h"

namespace hone {

// The keys under which a family's config.json has these values.
struct EncoderKeys {
  const char* hidden = "hidden_size";
  const char* layers = "num_hidden_layers";
  const char* heads = "num_attention_heads";
  const char* inner = "intermediate_size";
  const char* act = "hidden_act";
  const char* dropout = "hidden_dropout_prob";
  const char* attention_dropout = "attention_probs_dropout_prob";
  const char* classifier_dropout = "classifier_dropout";
  const char* norm_eps = "layer_norm_eps";
  const char* positions = "max_position_embeddings";
};

// The names of a layer's modules, after the name of the layer. `attended`: the output layer of attention; up, down:
// the two layers of the MLP.
struct EncoderNames {
  const char* query = "attention.self.query";
  const char* key = "attention.self.key";
  const char* value = "attention.self.value";
  const char* attended = "attention.output.dense";
  const char* attended_norm = "attention.output.LayerNorm";
  const char* up = "intermediate.dense";
  const char* down = "output.dense";
  const char* norm = "output.LayerNorm";
};

struct EncoderStyle {
  // The row of the position table for a sequence's first token. The row before it, if there is one, belongs to padding.
  int64_t first_position = 0;
  const char* decoder = "";  // name of the matrix of the masked-LM head
  EncoderKeys keys = {};
  EncoderNames names = {};
  bool positions = true, token_types = true;  // whether the model has tables of them
  int64_t usual_types = 2, least_types = 1;   // type_vocab_size: default and minimum
  int64_t usual_padding = 0;                  // pad_token_id if the config has none
  double norm_eps = 1e-12;                    // layer_norm_eps if the config has none
  // Probability of every dropout, if the config has none.
  double usual_dropout = 0.1;
  const char* usual_act = "gelu";  // hidden_act if the config has none
  const char* embeddings_norm = "embeddings.LayerNorm";
  bool inner_dropout = true;  // dropout after the MLP
  bool output_biases = true;  // the output layers of attention and MLP have biases
  const char* prefix = "";    // of the body's weights; "": the family's name and a dot
  // The name of a layer is this, its number and a dot.
  const char* layers = "encoder.layer.";
  // Returns the name of a layer that has another form: "encoder.albert_layer_groups.0.albert_layers.0.".
  std::string (*layer_name)(const ModelConfig& c, int64_t layer) = nullptr;
  bool multiple_choice = false;  // Transformers has a class ...ForMultipleChoice for the family
  // Replaces attention up to its output layer, which stays: x [T,C] -> [T,C]. `at`: the name of the layer.
  std::function<ValueId(int64_t layer, const std::string& at, ValueId x)> attend = nullptr;
  // Replaces the first layer of the MLP and its activation, x [N,C] -> [N,F].
  std::function<ValueId(const std::string& at, ValueId x, const LinearLayer& o)> inner = nullptr;
  // Replaces the output `out` of a layer. x: the layer's input. Both are [T,C]. If after_layer is set, the last layer
  // is computed for all tokens, even if the head reads only the first token of each sequence.
  std::function<ValueId(int64_t layer, ValueId x, ValueId out)> after_layer = nullptr;
};

// Reads the values that all encoders have. H2302: a value is not valid. H2303: the model is a decoder, has relative
// positions, or has an activation that hone does not support.
Status read_encoder_config(ModelConfig& c, const EncoderStyle& style = {});
// For families such as RoBERTa: the positions of a text begin after the row pad_token_id of the position table; this
// row and those before it are not used by tokens. Reduces c.max_positions accordingly. H2302: pad_token_id is null, or
// no row is left.
Status read_positions_after_padding(ModelConfig& c);
// The Family::count_positions of these families. Padding tokens, also in the middle of a text, do not count. They
// get the position -1, which selects the row for padding (Transformers' create_position_ids_from_input_ids).
void number_tokens_of_text(const ModelConfig& c, std::span<const int32_t> ids,
                           std::span<int32_t> positions);
// The width E of the embedding tables: embedding_size in config.json; absent: the hidden size.
int64_t embedding_width(const ModelConfig& c);
// The prefix of the body's weights; "": the model has no head, so its names have no prefix.
std::string encoder_prefix(const ModelConfig& c, const EncoderStyle& style = {});

// The body: hidden states [T,C]; if the head gives one row for each sequence (reads_sequences()), only those of the
// first token of each sequence, [S,C].
ValueId encoder_body(ModelGraph& g, const EncoderStyle& style = {});
// The first part of the body: embeddings, layer norm and dropout, [T,E].
ValueId encoder_embeddings(ModelGraph& g, const EncoderStyle& style);
// The second part of the body: all layers, from x [T,C].
ValueId encoder_layers(ModelGraph& g, const EncoderStyle& style, ValueId x);
// The sum of the embeddings of words, positions and token types, before the layer norm, [T,E].
ValueId embedded_tokens(ModelGraph& g, const EncoderStyle& style);

// The pooler: tanh of a linear layer `at`, x [S,C] (first tokens) -> [S,C].
ValueId encoder_pooled(ModelGraph& g, const std::string& at, ValueId x);
// Declares the weights of a pooler that a checkpoint without a head may have, but the model does not use.
void declare_pooler(ModelGraph& g, const std::string& at, ValueId x);

// The first part of a masked-LM head: linear layer, activation and layer norm, x [N,C] -> [N,width].
ValueId encoder_transform(ModelGraph& g, const std::string& dense, const std::string& norm,
                          ValueId x, const std::string& act, const EncoderStyle& style = {});
// The matrix of a masked-LM head: the word embedding if the config ties the two, else a separate weight.
ValueId encoder_decoder_matrix(ModelGraph& g, const EncoderStyle& style);
// The bias [V] of a masked-LM head. Its name is `tied_name`, or `own_name` if the matrix is not tied.
ValueId encoder_decoder_bias(ModelGraph& g, const char* tied_name, const char* own_name);

// A classifier of sequences: encoder_pooled(), dropout `drop` and encoder_classifier(), x [S,C] -> [S,labels].
HeadLayer pooled_classifier(ModelGraph& g, const std::string& at, ValueId x, double drop);
// The output layer of a classifier, x [N,C] -> [N,labels].
HeadLayer encoder_classifier(ModelGraph& g, const std::string& at, ValueId x);
// RoBERTa's classifier of sequences, x [S,C]: dropout, dense layer, activation, dropout, out_proj.
HeadLayer dense_classifier(ModelGraph& g, ValueId x, double drop, const std::string& act);

// A layer norm with the weights `at`.weight and `at`.bias; older checkpoints call them gamma and beta.
ValueId encoder_norm(ModelGraph& g, const std::string& at, ValueId x,
                     const EncoderStyle& style = {});

std::string hidden_act_of(const ModelConfig& c, const EncoderStyle& style = {});
// classifier_dropout of config.json; if it is absent, the hidden dropout.
double classifier_dropout_of(const ModelConfig& c, const EncoderStyle& style = {});

double attention_dropout_of(const ModelConfig& c, const EncoderStyle& style = {});

// The mean of x over the tokens of each sequence, [T,C] -> [S,C]; zeros for an empty sequence.
ValueId mean_of_sequences(ModelGraph& g, ValueId x);

// The heads that all these families have: masked_lm, sequence_classification, token_classification, none.
std::vector<HeadOffer> encoder_heads();
// Adds to `f` everything that all these families have in common.
Family encoder_family(Family f, const EncoderStyle& style = {});

}  // namespace hone
