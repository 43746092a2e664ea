// A model family: the meaning of config.json, the weights, and the graph of one pass. Each family
// is one file of this shelf. Names follow Transformers' checkpoints. config.h has the fields of a
// config, graph.h the builder of graphs.
#pragma once

#include <span>

#include "learn/models/graph.h"

namespace hone {

struct ConstantTable {
  std::string name;
  Shape shape;
  std::vector<float> values;
};

struct GgufLayout;  // gguf_layout.h

struct ModelType {
  std::string name;          // value of config.json's model_type: "mistral"
  std::string class_prefix;  // of Transformers' classes: "Mistral"
  // JSON: the defaults of Transformers' config class, for training from scratch. "": the user gives
  // a whole config.json.
  const char* usual = "";
  std::vector<std::string> adapted = {};  // ModelConfig::adapted
  const GgufLayout* gguf = nullptr;       // null: hone reads and writes no GGUF files of the type
};
struct HeadOffer {
  Head head;
  std::string class_ending;                   // "ForMaskedLM"
  std::vector<std::string> model_types = {};  // that have it; empty: all of the family
};

struct Family {
  std::string name;                    // file and shelf name
  std::vector<ModelType> model_types;  // the first gives a config its usual classes
  // The first is the default head. The shelf adds two: decoders, whose first is causal_lm, classify
  // sequences too, by the weight "score.weight"; families that classify tokens find answers too, by
  // "qa_outputs".
  std::vector<HeadOffer> heads = {};
  Status (*read_config)(ModelConfig& c) = nullptr;  // fills the common fields, checks its own
  bool reads_text = true;  // has a vocabulary and positions; false: it reads images (image_model.h)
  // The type of the processor for images of a model that comes without one.
  const char* image_processor = "ConvNextImageProcessor";
  ValueId (*body)(ModelGraph& g) = nullptr;  // -> hidden states [T,C] (of the decoder)
  HeadLayer (*head)(ModelGraph& g, ValueId hidden) = nullptr;  // hidden [T,C], or rows of it
  // Layers carry states from token to token beside keys and values (ModelGraph::carried).
  bool carries_states = false;
  // Encoder-decoders: -> [Te,C], and the keys and values that a layer of the decoder computes from
  // g.encoded.
  ValueId (*encoder)(ModelGraph& g) = nullptr;
  CrossKeys (*cross_keys)(ModelGraph& g, int64_t layer) = nullptr;

  // Keys of config.json whose value is a share of dropout.
  std::vector<const char*> dropouts = {};
  // In front of the body's weights, except in a checkpoint of the body alone: "transformer.".
  std::string body_prefix = "";
  // Endings of tensors that checkpoints carry and no model reads: masks and tables that are
  // made again.
  std::vector<std::string> unread = {};
  // `positions` [T] come as 0, 1, 2, ... in each sequence of `ids` [T]; nullptr: they are not
  // changed.
  void (*count_positions)(const ModelConfig& c, std::span<const int32_t> ids,
                          std::span<int32_t> positions) = nullptr;
  // The name of the head's own weight. If a checkpoint has this weight and it differs from the
  // embedding, it is used, as in Transformers, although the config ties the two. nullptr: the
  // config decides.
  const char* separate_head = nullptr;
  // Whether only the file decides: a head that equals the embedding is tied to it, whatever the
  // config.
  bool head_of_file = false;
  // The layout of a file by its names of weights (ModelConfig::layout); nullptr: the family knows
  // Transformers' names alone.
  std::string (*layout)(const std::function<bool(const std::string& name)>& has) = nullptr;
  // Child modules that Transformers' classes make in another order than the graph uses them, in their order. A
  // module has its own weights first, then those of these children, then of the others in the order of the graph
  // (module_order.h). nullopt: the order is not known.
  std::optional<std::vector<std::string>> module_order = {};
  // Whether activations stay in the range of f16 in the models that people have. If not, --fp16
  // keeps those beyond it as the largest value of f16, as Transformers clamps them.
  bool safe_in_f16 = true;

  // Weights of body and head, in the order of the graph; tables that are computed.
  std::vector<ParamSpec> params(const ModelConfig& c) const;
  std::vector<ConstantTable> constants(const ModelConfig& c) const;
  // Names under which a checkpoint may keep the weight, best first; not spec.name itself.
  std::vector<std::string> other_names(const ModelConfig& c, const ParamSpec& spec) const;
  bool leaves_unread(const std::string& name) const;
};

const std::vector<Family>& families();

// Family and common fields of a config.json. Unknown model_type, missing keys and values that hone
// does not offer are Errors that name the key.
Result<ModelConfig> read_model_config(const nlohmann::json& config);
// The config of a new model: the defaults of its type, and `overrides` as run_clm's
// config_overrides: "n_embd=64,n_layer=2". H2301: unknown type. H2302: the config does not have the
// key of an override, or has it with another type.
Result<nlohmann::json> usual_config(const std::string& model_type, const std::string& overrides);
// The fields that every model of the family's kind needs are in range. H2302.
Status check_common(const ModelConfig& c, const Family& f);
const Family& family_of(const ModelConfig& c);
// `with_tables` false: Transformers' num_parameters(exclude_embeddings=True).
int64_t parameter_count(const ModelConfig& c, bool with_tables = true);

// Sets the head, with its number of labels where it classifies. H2304 lists what the family offers.
Status set_head(ModelConfig& c, Head head, int64_t labels = 0);
// A head that classifies, with its labels in config.json: id2label and label2id.
Status set_head(ModelConfig& c, Head head, const std::vector<std::string>& labels);
// Transformers' class of the model with its head: what config.json names when it fits the head,
// else the family's.
std::string architecture_of(const ModelConfig& c);
// Number of labels that config.json names (id2label, num_labels); 2 as in Transformers otherwise.
int64_t config_labels(const ModelConfig& c);

// Binds the weights (trainable as asked) and the tables of its config to the graph.
void add_model_states(ModelGraph& g, bool trainable);
// Body and head. With label_rows, the head of a language model is computed for those rows alone, and
// a head for which reads_label_rows() is true for these rows in place of the last tokens.
HeadLayer model_head(ModelGraph& g);
// Whether the model's head classifies sequences by one token of each that label_rows names: the last one
// that is not padding of a decoder, the last end-of-text token of an encoder-decoder.
bool reads_label_rows(const ModelConfig& c);

// Position numbers of packed rows as the family counts them (Family::count_positions).
void count_positions(const ModelConfig& c, std::span<const int32_t> ids,
                     std::span<int32_t> positions);
// The config with every share of dropout 0.
ModelConfig without_dropout(ModelConfig c);

}  // namespace hone
