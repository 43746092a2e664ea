// A model family: how it reads config.json, which weights it has, and its computation graph. Each family is one file
// of this folder. Names of weights are those of Transformers. config.h has the values of a config, graph.h the builder
// of graphs and the letters in shapes (T, C, ...).
#pragma once

#include <span>

#include "learn/models/graph.h"

namespace hone {

// A table that is computed from the config and not saved, such as rotary frequencies.
struct ConstantTable {
  std::string name;
  Shape shape;
  std::vector<float> values;
};

struct GgufLayout;  // gguf_layout.h

struct ModelType {
  std::string name;          // value of config.json's model_type: "mistral"
  std::string class_prefix;  // of Transformers' classes: "Mistral"
  // The default values of Transformers' config class as JSON, for training from scratch. "": hone has none; the user
  // must give a complete config.json.
  const char* usual = "";
  std::vector<std::string> adapted = {};  // ModelConfig::adapted
  const GgufLayout* gguf = nullptr;       // null: GGUF files are not supported for this type
};
// A head that models of a family may have.
struct HeadOffer {
  Head head;
  std::string class_ending;                   // of Transformers' class: "ForMaskedLM"
  std::vector<std::string> model_types = {};  // types that have the head; empty: all of the family
};

struct Family {
  std::string name;                    // name of its file without .cc: "gpt2"
  std::vector<ModelType> model_types;  // at least one
  // The first head is the default. families() adds two heads: sequence_classification for decoders (the first head is
  // causal_lm), with the weight "score.weight"; question_answering for families that have token_classification, with
  // the layer "qa_outputs".
  std::vector<HeadOffer> heads = {};
  // Fills the members of ModelConfig from c.config, and checks the family's own keys. H2302: a value is not valid.
  // H2303: a value is not supported.
  Status (*read_config)(ModelConfig& c) = nullptr;
  bool reads_text = true;  // false: the models read images (image_model.h)
  // The type of the image processor for an image model whose folder has none.
  const char* image_processor = "ConvNextImageProcessor";
  // Builds the body. Returns hidden states [T,C]; for an encoder-decoder, those of the decoder.
  ValueId (*body)(ModelGraph& g) = nullptr;
  // Builds the head. hidden: [T,C], or only those rows of it for which logits are needed.
  HeadLayer (*head)(ModelGraph& g, ValueId hidden) = nullptr;
  // true: some layers carry a state from token to token, other than keys and values (ModelGraph::carried).
  bool carries_states = false;
  // For encoder-decoders; else null. encoder: builds the encoder, -> [Te,C]. cross_keys: the keys and values that a
  // layer of the decoder computes from g.encoded.
  ValueId (*encoder)(ModelGraph& g) = nullptr;
  CrossKeys (*cross_keys)(ModelGraph& g, int64_t layer) = nullptr;

  // Keys of config.json whose values are probabilities of dropout.
  std::vector<const char*> dropouts = {};
  // The prefix of the body's weights: "transformer.". A checkpoint without a head does not have it.
  std::string body_prefix = "";
  // Endings of the names of tensors that checkpoints have but no model reads, such as masks and computed tables.
  std::vector<std::string> unread = {};
  // Changes the position numbers of packed sequences. `positions` [T] holds 0, 1, 2, ... in each sequence of `ids`
  // [T]. nullptr: these numbers stay.
  void (*count_positions)(const ModelConfig& c, std::span<const int32_t> ids,
                          std::span<int32_t> positions) = nullptr;
  // The name of the head's weight if it is not tied. If a checkpoint has this weight and it differs from the
  // embedding, it is used although the config ties the two, as in Transformers. nullptr: only the config decides.
  const char* separate_head = nullptr;
  // true: only the checkpoint decides, not the config: the head is tied if its weight equals the embedding or is
  // missing.
  bool head_of_file = false;
  // Recognizes the naming scheme of a file (ModelConfig::layout); has(name): the file has a weight of this name.
  // nullptr: the family supports only Transformers' names.
  std::string (*layout)(const std::function<bool(const std::string& name)>& has) = nullptr;
  // The order of the modules in Transformers' classes. The list names the modules whose order differs from that of the
  // graph; empty: none. In a module, its own weights come first, then the child modules that are in this list, in the
  // order of the list, then the other children in the order of the graph (module_order.h). nullopt: the order is not
  // known.
  std::optional<std::vector<std::string>> module_order = {};
  // Whether activations of the published models stay within the range of f16. false: with --fp16, larger activations
  // become the largest value of f16, as Transformers clamps them.
  bool safe_in_f16 = true;

  // The weights of body and head, in the order in which the graph uses them.
  std::vector<ParamSpec> params(const ModelConfig& c) const;
  // The tables that are computed from the config.
  std::vector<ConstantTable> constants(const ModelConfig& c) const;
  // Other names that the weight may have in a checkpoint, best first, without spec.name.
  std::vector<std::string> other_names(const ModelConfig& c, const ParamSpec& spec) const;
  bool leaves_unread(const std::string& name) const;  // whether the name ends in one of `unread`
};

const std::vector<Family>& families();  // all families

// Reads a config.json. H2301: its model_type is not supported. H2302: a key is missing, or its value is not valid.
// H2303: a value is not supported. The message names the key.
Result<ModelConfig> read_model_config(const nlohmann::json& config);
// Makes the config.json of a new model: the default values of its type, with `overrides` in the form of run_clm's
// config_overrides: "n_embd=64,n_layer=2". H2301: the type is unknown or has no default values. H2302: the config has
// no such key, or its value has another type.
Result<nlohmann::json> usual_config(const std::string& model_type, const std::string& overrides);
// H2302: a value that every text or image model needs is out of range.
Status check_common(const ModelConfig& c, const Family& f);
const Family& family_of(const ModelConfig& c);
// The number of elements of all weights. `with_tables` false: without embeddings, as Transformers'
// num_parameters(exclude_embeddings=True).
int64_t parameter_count(const ModelConfig& c, bool with_tables = true);

// Sets the head. `labels`: the number of labels if the head classifies, else 0. H2304: the model type does not have
// this head; the message lists the heads that it has.
Status set_head(ModelConfig& c, Head head, int64_t labels = 0);
// Sets a head that classifies, and the names of its labels in c.config: id2label and label2id.
Status set_head(ModelConfig& c, Head head, const std::vector<std::string>& labels);
// The name of Transformers' class for the model with its head: "MistralForCausalLM". It is the class that config.json
// names, if this class has the head; else the model type's class for the head.
std::string architecture_of(const ModelConfig& c);
// The number of labels by id2label or num_labels in config.json; 2 if both are absent, as in Transformers.
int64_t config_labels(const ModelConfig& c);

// Adds all weights and tables of the model to the graph as states. Call it before the body is built.
void add_model_states(ModelGraph& g, bool trainable);
// Builds the encoder, the body and the head. If g.label_rows is set, the head is computed only for these rows: for the
// tokens with a label in a language model, for one token of each sequence if reads_label_rows() is true.
HeadLayer model_head(ModelGraph& g);
// Whether the head classifies a sequence by one of its tokens, which label_rows must name: for a decoder the last
// token that is not padding, for an encoder-decoder the last end-of-text token.
bool reads_label_rows(const ModelConfig& c);

// Calls Family::count_positions if the family has it.
void count_positions(const ModelConfig& c, std::span<const int32_t> ids,
                     std::span<int32_t> positions);
// The config with all probabilities of dropout set to 0.
ModelConfig without_dropout(ModelConfig c);

}  // namespace hone
