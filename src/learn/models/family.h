// A model family: what config.json means, which weights there are, and the graph of one pass.
// Each family is one file of this shelf. Names are those of Transformers' checkpoints.
//
// Letters: T packed tokens, S sequences, C hidden size, H heads, G key/value heads, D head size,
// V vocabulary, F inner size of the MLP.
#pragma once

#include <nlohmann/json.hpp>

#include "engine/ops/ops.h"

namespace hone {

// One weight of the checkpoint.
struct ParamSpec {
  std::string name;  // as Transformers saves it
  Shape shape;
  enum class Init { normal, zeros, ones, sinusoids } init = Init::normal;
  double std = 0.02;      // of the normal distribution
  bool decay = true;      // weight decay applies (not to biases and norms)
  bool of_head = false;   // a checkpoint of the body alone lacks it: it is then made from the seed
  int64_t zero_row = -1;  // this row begins as zeros (an embedding's padding token)
  double ones = 1;        // what Init::ones begins as
  bool trained = true;    // no: kept and saved as it is, initialized where a checkpoint lacks it
};

// What follows the body: which logits a model gives.
enum class Head {
  causal_lm,                // [T,V], the next token
  masked_lm,                // [T,V], or [M,V] of the rows that have a label
  sequence_classification,  // [S,labels]; labels = 1: regression
  token_classification,     // [T,labels]
  seq2seq_lm,               // [T,V] of the decoder's tokens
  none,                     // the body alone, as a checkpoint without a head has it
};
std::string name_of(Head h);  // "masked_lm"

// What every model has, read from config.json; families keep the rest in `config`.
struct ModelConfig {
  nlohmann::json config;  // whole, as read
  std::string family;     // "gpt2"
  // The head of the architecture in config.json, else what the family is by itself; tasks set
  // theirs with set_head.
  Head head = Head::causal_lm;
  int64_t labels = 0;  // of a classification head; 0: no such head
  int64_t vocab = 0, hidden = 0, layers = 0, heads = 0, kv_heads = 0, head_dim = 0,
          max_positions = 0;
  bool tied = true;            // the head is the input embedding
  int64_t window = 0;          // sliding attention window; 0: none
  int64_t padding_token = -1;  // its row of the embedding is not trained; -1: every row is
  // Encoder-decoders; the sizes above are the decoder's.
  int64_t source_vocab = 0, encoder_heads = 0;
  int64_t decoder_start = -1;  // token; -1: the last one of the labels

  // Typed access; an absent or null key gives `otherwise`.
  Result<int64_t> integer(const std::string& key, std::optional<int64_t> otherwise = {}) const;
  double real(const std::string& key, double otherwise) const;
  bool flag(const std::string& key, bool otherwise) const;
  std::string text(const std::string& key, const std::string& otherwise) const;
};

// The weights and inputs of the program under construction.
class ModelGraph {
 public:
  enum class Mode { train, eval, cached };
  ModelGraph(Builder& b, const ModelConfig& c, Mode mode) : b(b), config(c), mode(mode) {}

  Builder& b;
  const ModelConfig& config;
  const Mode mode;
  ValueId ids = kNoValue, positions = kNoValue, cu_seqlens = kNoValue;  // i32[T], i32[T], i32[S+1]
  ValueId sample_ids = kNoValue, rng = kNoValue;                        // train: i64[T], i64[2]
  ValueId token_types = kNoValue;  // i32[T], encoders; none: 0 everywhere
  ValueId label_rows = kNoValue;   // i32[M], see model_head; < 0: no row
  ValueId cu_cache = kNoValue, block_table = kNoValue,
          slots = kNoValue;                 // cached: i32[S+1], i32[S,B], i32[T]
  int64_t cache_pages = 0, cache_page = 0;  // cached
  // Encoder-decoders: the encoder's tokens [Te] beside the decoder's above, with as many sequences;
  // sequence s of the decoder sees sequence s of the encoder.
  ValueId encoder_ids = kNoValue, encoder_positions = kNoValue, encoder_cu_seqlens = kNoValue,
          encoder_sample_ids = kNoValue;
  ValueId encoded = kNoValue;  // [Te,C], see encode()
  // Its keys and values in pages as those above: the decoder's view, i32[S+1] and i32[S,Bx], and
  // where the encoder's tokens go, i32[Te].
  ValueId cu_cross = kNoValue, cross_table = kNoValue, cross_slots = kNoValue;
  int64_t cross_pages = 0;

  // The weight of that name.
  ValueId param(const std::string& name);
  bool has_param(const std::string& name) const { return params_.contains(name); }
  void bind_param(const std::string& name, ValueId v) { params_[name] = v; }
  // A table that the family computes from its config, such as inv_freq; see Family::constants.
  ValueId constant(const std::string& name) { return param(name); }

  // dropout(x) + residual; outside training x + residual. The scope names the place.
  ValueId dropout(ValueId x, double p, ValueId residual = kNoValue);
  // The same of x [S,C], one row for each sequence, as for its first token.
  ValueId dropout_of_sequences(ValueId x, double p);
  // No sequence of this program, its cached tokens among them, is longer.
  int64_t longest() const;
  // x [T,C] -> [S,C], the first token of each sequence; zeros for empty ones.
  ValueId first_tokens(ValueId x);
  // Self-attention with the run's boundaries, or (causal alone) against the layer's cache.
  // q [T,H*D] with k, v [T,G*D], or a fused q = [T,(H+2G)*D]; bias [H,2*longest()-1] as
  // ops::attention has it. While the encoder is built, T, the boundaries and the heads are the
  // encoder's.
  ValueId self_attention(int64_t layer, ValueId q, ValueId k, ValueId v, double scale,
                         double dropout_p, int64_t window = 0, bool causal = true,
                         ValueId bias = kNoValue);

  // The decoder's queries q [Td,H*D] over the encoder's tokens, by Family::cross_keys or from the
  // cache, where every sequence has one query.
  ValueId cross_attention(int64_t layer, ValueId q, double scale, double dropout_p);
  // Builds the encoder: ids, positions, cu_seqlens and sample_ids are its own meanwhile.
  void encode();
  // Puts what every layer of the decoder asks of the encoder's tokens into the cache.
  void cache_cross_keys();
  // Rows of an embedding; that of config.padding_token takes no gradient.
  ValueId embed(ValueId table);

 private:
  ValueId first_rows();  // i32[S], -1 for empty sequences

  ValueId cache_state(const std::string& name, int64_t pages);

  std::map<std::string, ValueId> params_;
  bool in_encoder_ = false;
};

// The last linear layer of a head: logits [N,V] = x [N,C] weight^T [V,C] + bias [V]. Losses take
// it as it is (linear_cross_entropy), so that logits of a vocabulary need not exist.
struct HeadLayer {
  ValueId x, weight, bias = kNoValue;
};

struct ConstantTable {
  std::string name;
  Shape shape;
  std::vector<float> values;
};

// What a layer of the decoder asks of the encoder's tokens, [Te,G*D] each.
struct CrossKeys {
  ValueId k, v;
};

struct HeadOffer {
  Head head;
  std::string architecture;  // Transformers' class: "BertForMaskedLM"
};

struct Family {
  std::string name;                                 // file and shelf name
  std::vector<std::string> model_types;             // values of config.json's model_type
  std::vector<HeadOffer> heads;                     // the first: what the family is by itself
  Status (*read_config)(ModelConfig& c) = nullptr;  // fills and checks the common fields
  std::vector<ParamSpec> (*params)(const ModelConfig& c) = nullptr;         // of body and head
  std::vector<ConstantTable> (*constants)(const ModelConfig& c) = nullptr;  // optional
  ValueId (*body)(ModelGraph& g) = nullptr;  // -> hidden states [T,C]; the decoder's, of two
  HeadLayer (*head)(ModelGraph& g, ValueId hidden) = nullptr;  // hidden [T,C], or rows of it
  // Other names under which checkpoints keep the weight (older spellings, the other side of a tie,
  // without the body's prefix), best first; nullptr: none.
  std::vector<std::string> (*other_names)(const ModelConfig& c, const std::string& name) = nullptr;
  // Encoder-decoders: -> [Te,C], and what a layer of the decoder makes of g.encoded.
  ValueId (*encoder)(ModelGraph& g) = nullptr;
  CrossKeys (*cross_keys)(ModelGraph& g, int64_t layer) = nullptr;
  // The head's own weight, where a checkpoint may hold one that differs from the embedding although
  // its config ties them: Transformers then takes it. nullptr: the config decides.
  const char* separate_head = nullptr;
  // Whether activations stay in the range of f16 in the models that people have.
  bool safe_in_f16 = true;
};

const std::vector<Family>& families();

// Family and common fields of a config.json. Unknown model_type, missing keys and values that hone
// does not offer are Errors that name the key.
Result<ModelConfig> read_model_config(const nlohmann::json& config);
const Family& family_of(const ModelConfig& c);
int64_t parameter_count(const ModelConfig& c);

// Sets the head, with its number of labels where it classifies. H2304 lists what the family offers.
Status set_head(ModelConfig& c, Head head, int64_t labels = 0);
// Transformers' class of the model with its head: what config.json names when it fits the head,
// else the family's.
std::string architecture_of(const ModelConfig& c);
// Number of labels that config.json names (id2label, num_labels); 2 as in Transformers otherwise.
int64_t config_labels(const ModelConfig& c);

// Adds the model's weights as states (trainable as asked) and its tables as constants, and binds
// them to the graph.
void add_model_states(ModelGraph& g, bool trainable);

// Body and head. With label_rows, the head of a language model is computed for those rows alone.
HeadLayer model_head(ModelGraph& g);
ValueId logits_of(Builder& b, const HeadLayer& head);

// The name of the cache state of a layer: "cache.3.k"; of the encoder's tokens: "cross.3.k".
std::string cache_name(int64_t layer, char which);
std::string cross_name(int64_t layer, char which);

// Positions as sines and cosines, [rows,width]: column j < ceil(width/2) is sin(p /
// 10000^(2j/width)), the rest the cosines of the same angles (arXiv 1706.03762 with its columns
// sorted).
std::vector<float> sinusoids(int64_t rows, int64_t width);

}  // namespace hone
