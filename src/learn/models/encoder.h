// Shared parts of BERT-like encoders (Devlin et al. 2019, arXiv 1810.04805; Liu et al. 2019, arXiv
// 1907.11692): learned positions and token types, blocks whose norms come after the residual sum,
// biases everywhere, weights [out, in]. Names are Transformers'; names of the body begin with the
// family's prefix, except in a checkpoint of the body alone. An EncoderStyle describes the
// differences of a family.
#pragma once

#include "learn/models/family.h"

namespace hone {

// Keys of config.json.
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

// Names of a layer's weights, after the name of the layer.
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
  // The position of a sequence's first token in the table; the row before it belongs to padding.
  int64_t first_position = 0;
  const char* decoder = "";  // the name of the masked-language-model head's matrix
  EncoderKeys keys = {};
  EncoderNames names = {};
  bool positions = true, token_types = true;  // has tables of them
  int64_t usual_types = 2, least_types = 1;   // of type_vocab_size
  int64_t usual_padding = 0;                  // pad_token_id where the config has none
  double norm_eps = 1e-12;                    // layer_norm_eps where the config has none
  double usual_dropout = 0.1;                 // of all kinds
  const char* usual_act = "gelu";
  const char* embeddings_norm = "embeddings.LayerNorm";
  bool inner_dropout = true;  // on the output of the MLP
  bool output_biases = true;  // of the output layers of attention and MLP
  const char* prefix = "";    // of the body's weights; "": the family's name and a dot
  const char* layers =
      "encoder.layer.";  // a layer's name begins with it, then its number and a dot
  // Names layers, where not by number: "encoder.albert_layer_groups.0.albert_layers.0.".
  std::string (*layer_name)(const ModelConfig& c, int64_t layer) = nullptr;
  bool multiple_choice = false;  // Transformers has the family's class ForMultipleChoice
  // Replaces attention up to its output layer, x [T,C] -> [T,C]; `at` names the layer.
  std::function<ValueId(int64_t layer, const std::string& at, ValueId x)> attend = nullptr;
  // Replaces the first part of the MLP, x [N,C] -> [N,F].
  std::function<ValueId(const std::string& at, ValueId x, const LinearLayer& o)> inner = nullptr;
  // Changes the output of a layer whose input was x, both [T,C]. No layer is cut to first tokens then.
  std::function<ValueId(int64_t layer, ValueId x, ValueId out)> after_layer = nullptr;
};

// Reads the common fields. Refuses decoders, relative positions, and activations that hone does not
// compute.
Status read_encoder_config(ModelConfig& c, const EncoderStyle& style = {});
// Positions that begin after the padding token's id, as RoBERTa's: the table keeps the row of the id
// and those before it out of use. H2302 if there is no id or no row is left.
Status read_positions_after_padding(ModelConfig& c);
// Their Family::count_positions. Tokens of padding have no number, also in the middle of a text: they
// get -1, the row that the table keeps for them (Transformers' create_position_ids_from_input_ids).
void number_tokens_of_text(const ModelConfig& c, std::span<const int32_t> ids,
                           std::span<int32_t> positions);
// config.json's embedding_size, the width of the tables; absent: the hidden size.
int64_t embedding_width(const ModelConfig& c);
// The prefix of the body's weights; "" for the body alone.
std::string encoder_prefix(const ModelConfig& c, const EncoderStyle& style = {});

// -> [T,C]; where sequences are classified, of the first token of each alone, [S,C].
ValueId encoder_body(ModelGraph& g, const EncoderStyle& style = {});
// Its two parts: tables, norm and dropout [T,E], and the layers from x [T,C].
ValueId encoder_embeddings(ModelGraph& g, const EncoderStyle& style);
ValueId encoder_layers(ModelGraph& g, const EncoderStyle& style, ValueId x);
// The sum of the rows of the tables, before the norm, [T,E].
ValueId embedded_tokens(ModelGraph& g, const EncoderStyle& style);

// tanh of a linear layer over first tokens, x [S,C].
ValueId encoder_pooled(ModelGraph& g, const std::string& at, ValueId x);
// Declares the weights of a pooler that checkpoints have beside a body alone, and nothing reads.
void declare_pooler(ModelGraph& g, const std::string& at, ValueId x);

// A masked-language-model head's dense layer, activation and norm, x [N,C] -> [N,width].
ValueId encoder_transform(ModelGraph& g, const std::string& dense, const std::string& norm,
                          ValueId x, const std::string& act, const EncoderStyle& style = {});
// The matrix of a masked-language-model head: the words when they are tied, else one of its own.
ValueId encoder_decoder_matrix(ModelGraph& g, const EncoderStyle& style);
// Its bias [V]. Transformers reads `tied_name` or, of a decoder tied to nothing, `own_name`.
ValueId encoder_decoder_bias(ModelGraph& g, const char* tied_name, const char* own_name);

// tanh of a linear layer over first tokens, dropout and the last layer of a classifier, x [S,C].
HeadLayer pooled_classifier(ModelGraph& g, const std::string& at, ValueId x, double drop);
// The last layer of a classifier, [N,C] -> [N,labels].
HeadLayer encoder_classifier(ModelGraph& g, const std::string& at, ValueId x);
// RoBERTa's classifier of sequences, x [S,C]: dropout, dense layer, activation, dropout, out_proj.
HeadLayer dense_classifier(ModelGraph& g, ValueId x, double drop, const std::string& act);

// By the weights `at`.weight and `at`.bias; older checkpoints call them gamma and beta.
ValueId encoder_norm(ModelGraph& g, const std::string& at, ValueId x,
                     const EncoderStyle& style = {});

std::string hidden_act_of(const ModelConfig& c, const EncoderStyle& style = {});
// classifier_dropout, else the hidden one.
double classifier_dropout_of(const ModelConfig& c, const EncoderStyle& style = {});

double attention_dropout_of(const ModelConfig& c, const EncoderStyle& style = {});

// The mean over the tokens of each sequence, x [T,C] -> [S,C]; zeros for empty ones.
ValueId mean_of_sequences(ModelGraph& g, ValueId x);

// masked_lm, sequence_classification, token_classification, none.
std::vector<HeadOffer> encoder_heads();
// The family with what all of them have.
Family encoder_family(Family f, const EncoderStyle& style = {});

}  // namespace hone
