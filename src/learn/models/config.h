// A model's config.json: the fields that families share, grouped by the kind of input, and typed
// access to the rest.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/core/error.h"
#include "base/core/json.h"

namespace hone {

struct Adapter;        // adapter.h
struct Quantization;   // quantization.h
struct EmbeddingForm;  // text_embedding.h

// The part after the body: the kind of logits.
enum class Head {
  causal_lm,                // [T,V], the next token
  masked_lm,                // [T,V], or [M,V] of the rows that have a label
  sequence_classification,  // [S,labels]; labels = 1: regression
  token_classification,     // [T,labels]
  question_answering,       // [T,2]: scores of a token to begin and to end the answer
  multiple_choice,          // [S,1]: the score of a choice, which is a sequence
  seq2seq_lm,               // [T,V] of the decoder's tokens
  image_classification,     // [B,labels]; labels = 1: regression
  none,                     // the body alone, as a checkpoint without a head has it
};
std::string name_of(Head h);   // "masked_lm"
bool classifies(Head h);       // and so has labels
bool reads_sequences(Head h);  // one row of logits for each sequence of tokens

// A model of tokens. Families of other inputs leave these fields alone (Family::reads_text).
struct TextConfig {
  int64_t vocab = 0, max_positions = 0;
  int64_t padding_token = -1;  // its row of the embedding is not trained; -1: every row is
  double neftune_alpha = 0;    // of the noise on embeddings in training (ModelGraph::with_noise)
};

// The encoder beside the decoder, whose sizes are the common ones.
struct EncoderDecoderConfig {
  int64_t source_vocab = 0, encoder_heads = 0;
  int64_t decoder_start = -1;  // token; -1: the last one of the labels
};

// A model of images (Family::reads_text false).
struct ImageConfig {
  int64_t image_height = 0, image_width = 0, channels = 0;  // of the images that it was made for
  bool any_image_size = false;  // it also reads images of other sizes, as ResNets do,
  int64_t least_image = 1;      // whose sides have at least this number of pixels
  double layer_decay =
      1;  // of learning rates, from each group of layers to the one before (ParamSpec::depth)
};

struct ModelConfig : TextConfig, EncoderDecoderConfig, ImageConfig {
  nlohmann::json config;  // whole, as read
  std::string family;     // "gpt2"
  // The layers that PEFT adapts by itself in models of the type; none: it has no default.
  std::vector<std::string> adapted;
  // The head of the architecture in config.json, else what the family is by itself; tasks set
  // theirs with set_head.
  Head head = Head::causal_lm;
  int64_t labels = 0;  // of a classification head, 1 of multiple choice; 0: no such head
  // The program whose names of weights the file has, by Family::layout; "": Transformers. The model is
  // saved under the names that were read.
  std::string layout;
  // config.json in timm's form, from which `config` is made (timm_config.h); null: it is Transformers'.
  std::shared_ptr<const nlohmann::json> timm;
  int64_t hidden = 0, layers = 0, heads = 0, kv_heads = 0, head_dim = 0;
  bool tied = true;                        // the head is the input embedding
  int64_t window = 0;                      // sliding attention window; 0: none
  std::shared_ptr<const Adapter> adapter;  // beside weights that are frozen; null: all are trained
  std::shared_ptr<const Quantization> quantization;  // of frozen weights; null: they are in f32
  std::shared_ptr<const EmbeddingForm> embedding;    // the model embeds texts; null: it does not

  // Typed access; an absent or null key gives `otherwise`.
  Result<int64_t> integer(const std::string& key, std::optional<int64_t> otherwise = {}) const;
  double real(const std::string& key, double otherwise) const;
  bool flag(const std::string& key, bool otherwise) const;
  std::string text(const std::string& key, const std::string& otherwise) const;
};

// H2302 unless least <= v <= most; `what` names it: "'num_layers'".
Status check_range(const std::string& what, int64_t v, int64_t least, int64_t most);
constexpr int64_t kLargestSize = int64_t{1} << 24;
constexpr int64_t kLargestImage = int64_t{1} << 14;  // pixels of a side
constexpr int64_t kMostLayers = 10000;               // of a stack

}  // namespace hone
