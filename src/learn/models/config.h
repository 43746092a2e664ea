// A model's config.json: the values that all model families have, grouped by the kind of input, and typed access to
// the other keys.
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

// The head: the part after the body, which makes the logits. Letters: T tokens, S sequences, V vocabulary, B images.
enum class Head {
  causal_lm,                // [T,V], the next token
  masked_lm,                // [T,V]; [M,V] if only the M tokens with a label are computed
  sequence_classification,  // [S,labels]; labels = 1: regression
  token_classification,     // [T,labels]
  question_answering,       // [T,2]: scores of a token to begin and to end the answer
  multiple_choice,          // [S,1]: the score of a choice, which is a sequence
  seq2seq_lm,               // [T,V] of the decoder's tokens
  image_classification,     // [B,labels]; labels = 1: regression
  none,                     // no head: the model gives hidden states
};
std::string name_of(Head h);  // "masked_lm"
// Whether the head classifies sequences, tokens or images; it then has labels.
bool classifies(Head h);
bool reads_sequences(Head h);  // whether there is one row of logits for each sequence of tokens

// Values of a model that reads tokens. Families of image models do not set them (Family::reads_text).
struct TextConfig {
  int64_t vocab = 0, max_positions = 0;
  int64_t padding_token = -1;  // its row of the embedding is not trained; -1: all rows are trained
  double neftune_alpha = 0;    // factor of NEFTune's noise (ModelGraph::with_noise); 0: no noise
};

// Values that only encoder-decoders have. The decoder's other values are in ModelConfig.
struct EncoderDecoderConfig {
  int64_t source_vocab = 0, encoder_heads = 0;
  // The token with which the decoder starts; -1: the last token of the labels.
  int64_t decoder_start = -1;
};

// Values of an image model (Family::reads_text is false).
struct ImageConfig {
  // Size of the images that the model was made for.
  int64_t image_height = 0, image_width = 0, channels = 0;
  bool any_image_size = false;  // true: the model also reads images of other sizes, as ResNets do
  int64_t least_image = 1;      // with any_image_size: the smallest height and width, in pixels
  // Layer-wise decay of learning rates: the rate of a group of layers is that of the next group times this factor
  // (ParamSpec::depth: the number of the group).
  double layer_decay = 1;
};

struct ModelConfig : TextConfig, EncoderDecoderConfig, ImageConfig {
  nlohmann::json config;  // config.json with all its keys
  std::string family;     // name of the model family: "gpt2"
  // Names of the layers that PEFT adapts by default in this model type; empty: PEFT has no default for it.
  std::vector<std::string> adapted;
  // The head that "architectures" in config.json names, else the family's default. A task may change it by set_head().
  Head head = Head::causal_lm;
  int64_t labels = 0;  // of a classification head; 1 for multiple choice; 0 for other heads
  // The program whose naming scheme the file of weights follows (Family::layout): "timm"; "": Transformers. The model
  // is saved under the names with which it was read.
  std::string layout;
  // config.json in timm's form, from which `config` was made (timm_config.h); null: config.json has Transformers'
  // form.
  std::shared_ptr<const nlohmann::json> timm;
  int64_t hidden = 0, layers = 0, heads = 0, kv_heads = 0, head_dim = 0;
  bool tied = true;                        // true: the head's matrix is the input embedding
  int64_t window = 0;                      // tokens of the sliding attention window; 0: none
  std::shared_ptr<const Adapter> adapter;  // trained beside frozen weights; null: all are trained
  std::shared_ptr<const Quantization> quantization;  // of the frozen weights; null: they are floats
  // How the model embeds texts; null: it does not.
  std::shared_ptr<const EmbeddingForm> embedding;

  // The value of a key of config.json; `otherwise` if the key is absent or null. integer() returns H2302 if the value
  // is not a whole number from 0 to 2^40, or if the key is absent and there is no `otherwise`. The other functions
  // return `otherwise` also for a value of another type.
  Result<int64_t> integer(const std::string& key, std::optional<int64_t> otherwise = {}) const;
  double real(const std::string& key, double otherwise) const;
  bool flag(const std::string& key, bool otherwise) const;
  std::string text(const std::string& key, const std::string& otherwise) const;
};

// H2302 unless least <= v <= most. `what`: the name of the value, for the message: "'num_layers'". The constants below
// are common values of `most`.
Status check_range(const std::string& what, int64_t v, int64_t least, int64_t most);
constexpr int64_t kLargestSize = int64_t{1} << 24;   // of a dimension, such as the hidden size
constexpr int64_t kLargestImage = int64_t{1} << 14;  // pixels of an image's height or width
constexpr int64_t kMostLayers = 10000;               // of an encoder or decoder

}  // namespace hone
