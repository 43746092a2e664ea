// The builder of a family's graph: the inputs of the program, its layers and attention. A layer's weights are declared
// by the call that uses the layer; Family::params() runs the same code once more to list the weights.
//
// Letters: T packed tokens, S sequences, C hidden size, H heads, G key/value heads, D head size, V vocabulary, F inner
// size of the MLP, Te and Td tokens of the encoder and of the decoder, M rows with a label, B images; in Mode::cached
// B is the number of cache pages that a sequence may use.
#pragma once

#include <functional>
#include <map>

#include "engine/ops/ops.h"
#include "learn/models/adapter.h"
#include "learn/models/config.h"
#include "learn/models/param_spec.h"
#include "learn/models/quantization.h"

namespace hone {

// A table that a family computes from its config, such as inv_freq; f32, never saved.
struct ConstantSpec {
  std::string name;
  Shape shape;
  std::function<std::vector<float>()> values;
};

// The weights and tables that a graph uses, in the order of first use.
struct DeclaredWeights {
  std::vector<ParamSpec> params;
  std::vector<ConstantSpec> constants;
};

// Inputs of a model that reads tokens. kNoValue: the program does not have the input.
struct TextInputs {
  // ids: i32[T]. positions: i32[T], each token's position in its sequence. cu_seqlens: i32[S+1], the first token of
  // each sequence and the end of the last one.
  ValueId ids = kNoValue, positions = kNoValue, cu_seqlens = kNoValue;
  // For training; random numbers depend on both. sample_ids: i64[T], the number of each token's row in the data;
  // negative: the token fills the batch. rng: i64[2] = {seed, step}.
  ValueId sample_ids = kNoValue, rng = kNoValue;
  ValueId token_types = kNoValue;  // of encoders, i32[T]; kNoValue: 0 for all tokens
  ValueId label_rows = kNoValue;  // i32[M], indices of tokens; negative: no token; see model_head()
  ValueId row_lengths = kNoValue;  // f32[T], the length of each token's row; for with_noise()
};

// Inputs of a model that reads images (image_model.h has their meaning).
struct ImageInputs {
  ValueId pixels = kNoValue;       // f32[B,height,width,channels], normalized
  ValueId image_ids = kNoValue;    // training: i64[B], numbers of the rows in the data
  ValueId image_count = kNoValue;  // training: i32[], number of present images; kNoValue: all
};

// Inputs of an encoder-decoder's encoder: as TextInputs, with Te tokens in the same number of sequences. Sequence s of
// the decoder attends to sequence s of the encoder.
struct EncoderInputs {
  ValueId encoder_ids = kNoValue, encoder_positions = kNoValue, encoder_cu_seqlens = kNoValue,
          encoder_sample_ids = kNoValue;
  ValueId encoded = kNoValue;  // the encoder's output [Te,C], set by ModelGraph::encode()
};

// Inputs of Mode::cached, in which keys and values are in the pages of a cache (learn/generate/programs.h explains
// them).
struct KvCache {
  // cu_cache: i32[S+1], cumulative lengths in the cache. block_table: i32[S,B], the pages of each sequence. slots:
  // i32[T], the places of the new tokens in the cache.
  ValueId cu_cache = kNoValue, block_table = kNoValue, slots = kNoValue;
  // cache_pages: number of pages. cache_page: tokens of a page.
  int64_t cache_pages = 0, cache_page = 0;
  // The second cache, of the encoder's tokens. cu_cross: i32[S+1], cumulative lengths, for the decoder. cross_table:
  // i32[S,Bx], the pages of each sequence, for the decoder. cross_slots: i32[Te], the places of the tokens, for the
  // encoder.
  ValueId cu_cross = kNoValue, cross_table = kNoValue, cross_slots = kNoValue;
  int64_t cross_pages = 0;  // number of pages of the second cache
  // For families whose layers carry states (ModelGraph::carried). Each state has rows, so that several sequences can
  // keep theirs. state_from: i32[S], the row from which a sequence's states are read; negative: they start as zeros.
  // state_to: i32[S], the row to which they are written; negative: they are not kept.
  ValueId state_from = kNoValue, state_to = kNoValue;
  int64_t state_rows = 0;  // number of rows of each state
};

// Options of a linear layer.
struct LinearLayer {
  bool bias = true;
  bool in_out = false;      // the weight is [in,out], as Transformers' Conv1D; false: [out,in]
  double std = -1;          // of the initial weights; < 0: ModelGraph::init_std
  const char* joint = ".";  // between the layer's name and "weight" or "bias"
  // The meaning of a row of x; an adapter's dropout needs it. tokens: a row is a token. sequences: a sequence. labels:
  // a token in label_rows, or any token if there are no label_rows. table: a row of a table that all tokens share.
  enum class Rows { tokens, sequences, labels, table } rows = Rows::tokens;
};
// Options of a table; the members are those of ParamSpec. std < 0: ModelGraph::init_std.
struct TableOptions {
  double std = -1;
  int64_t zero_row = -1;
  bool decay = true;
  std::vector<std::string> also = {};
};

// Keys and values of the encoder's tokens for a layer of the decoder, [Te,G*D] each.
struct CrossKeys {
  ValueId k, v;
};

// Heads of a layer that differ from the config's. A kv_heads or head_dim of 0: the config's. keys_of: the earlier layer
// whose keys and values the layer uses, in Mode::cached from that layer's cache; -1: the layer's own.
struct LayerHeads {
  int64_t kv_heads = 0, head_dim = 0;
  int64_t keys_of = -1;
};

class ModelGraph : public TextInputs, public ImageInputs, public EncoderInputs, public KvCache {
 public:
  enum class Mode { train, eval, cached };
  // `declared` not null: the graph is built only to list its weights in `*declared`.
  ModelGraph(Builder& b, const ModelConfig& c, Mode mode, DeclaredWeights* declared = nullptr)
      : b(b),
        config(c),
        mode(mode),
        init_std(c.real("initializer_range", 0.02)),
        declared_(declared) {}

  Builder& b;
  const ModelConfig& config;
  const Mode mode;
  double init_std;       // standard deviation of normal initial weights; used by later declarations
  bool of_head = false;  // later declarations get ParamSpec::of_head
  // Later declarations get ParamSpec::depth. It is the number of the weights' group of layers, counted from the input:
  // 0, 1, ...; the last group is the head. Families of image models count the groups as timm's group_matcher does;
  // others leave `depth` at 0.
  int64_t depth = 0;

  // Adds the weights to the program as parameters, and the tables as constants. `trainable` false: no weight is
  // trained.
  void bind(const DeclaredWeights& weights, bool trainable);

  // --- weights: each call declares a weight and returns its value. To use a weight twice, declare it twice in the
  // same way, or use param().
  // A quantized weight is returned as [out,in], and a stack as [E,out,in], even if spec.in_out is set.
  ValueId weight(ParamSpec spec);
  // Sets spec.scheme and spec.nested of the weight of the linear layer `at` by the config's quantization. Returns the
  // type to which the layer's matrix product must round both operands; f32: no rounding.
  DType quantize(ParamSpec& spec, const std::string& at);
  // A weight or table that was declared before; a Bug if there is none.
  ValueId param(const std::string& name) const;
  // An embedding table [rows,channels], whose rows are looked up by ids.
  ValueId table(const std::string& name, int64_t rows, int64_t channels, TableOptions o = {});
  // A matrix that multiplies, such as an untied head. std < 0: init_std.
  ValueId matrix(const std::string& name, int64_t rows, int64_t columns, double std = -1);
  // A vector [n] that starts as zeros, without weight decay. `also`: ParamSpec::also.
  ValueId zeros(const std::string& name, int64_t n, std::vector<std::string> also = {});
  ValueId constant(ConstantSpec spec);

  // --- layers: x [T,K], with the weights `at`.weight and `at`.bias ---------------------------------
  // A linear layer -> [T,out], with the config's quantization and adapter if they apply to the layer.
  ValueId linear(const std::string& at, ValueId x, int64_t out, const LinearLayer& o = {});
  // `also`: other names of the weight, and of the bias (ParamSpec::also).
  ValueId layer_norm(const std::string& at, ValueId x, double eps,
                     std::pair<std::vector<std::string>, std::vector<std::string>> also = {});
  // `ones`: the weight's initial value.
  ValueId rms_norm(const std::string& at, ValueId x, double eps, double ones = 1);

  // dropout(x) + residual; outside training x + residual. kNoValue: without residual. The builder's current scope is
  // part of the key of the random mask, so each use needs a scope of its own.
  ValueId dropout(ValueId x, double p, ValueId residual = kNoValue);
  // dropout(x) of x [S,C], which has one row for each sequence. The mask is that of the sequence's first token.
  ValueId dropout_of_sequences(ValueId x, double p);
  // dropout(x) of the rows of a table. In a step, all tokens see the same mask.
  ValueId dropout_of_table(ValueId x, double p);
  // An upper bound for the length of a sequence in this program, cached tokens included.
  int64_t longest() const;
  // The first token of each sequence, x [T,C] -> [S,C]; zeros for an empty sequence.
  ValueId first_tokens(ValueId x);
  // The last token of each sequence, x [T,C] -> [S,C]; zeros for an empty sequence.
  ValueId last_tokens(ValueId x);
  // Self-attention within each sequence -> [T,H*D]. In Mode::cached, which needs `causal`, the new keys and values are
  // added to the layer's cache, and queries also attend to the cached ones. Either q is [T,H*D], and k and v are
  // [T,G*D]; or q is the fused [T,(H+2G)*D], and k and v are kNoValue. `window`: tokens of the sliding window; 0: none.
  // bias [H,2*longest()-1], softcap and sinks: as in ops::attention. While encode() runs, tokens, sequences and heads
  // are those of the encoder.
  ValueId self_attention(int64_t layer, ValueId q, ValueId k, ValueId v, double scale,
                         double dropout_p, int64_t window = 0, bool causal = true,
                         ValueId bias = kNoValue, double softcap = 0, ValueId sinks = kNoValue,
                         LayerHeads heads = {});

  // A causal convolution (ops::causal_conv1d): for each channel of x [T,C], a filter of `taps` taps over the tokens of
  // each sequence. Weights `at`.weight [C,1,taps] and, with `bias`, `at`.bias. In Mode::cached, the last taps - 1
  // tokens are kept in the layer's state "conv".
  ValueId causal_conv(int64_t layer, const std::string& at, ValueId x, int64_t taps, bool bias);
  // For Mode::cached: a state of `width` elements, named `which`, that the layer carries from token to token.
  // carried() returns the states [S,width] before this program's tokens; carry() sets the states after these tokens.
  ValueId carried(int64_t layer, const std::string& which, int64_t width);
  void carry(int64_t layer, const std::string& which, ValueId after);

  // Attention of the decoder's queries q [Td,H*D] to all tokens of the encoder's sequence -> [Td,H*D]. Keys and values
  // come from `keys_of`; in Mode::cached from the second cache, and every sequence must have one query.
  ValueId cross_attention(int64_t layer, ValueId q, double scale, double dropout_p,
                          CrossKeys (*keys_of)(ModelGraph&, int64_t layer));
  // Builds the encoder and sets `encoded`. While `encoder` runs, ids, positions, cu_seqlens and sample_ids are those
  // of the encoder.
  void encode(ValueId (*encoder)(ModelGraph&));
  // Writes the encoder's keys and values for each layer of the decoder into the second cache.
  void cache_cross_keys(CrossKeys (*keys_of)(ModelGraph&, int64_t layer));
  // Looks up the rows of `table` for `ids` -> [T,C], and calls with_noise(). The row of config.padding_token gets no
  // gradient.
  ValueId embed(ValueId table);
  // In training, adds NEFTune's noise (arXiv 2310.05914) to the tokens' embeddings x [T,C]: uniform in
  // +-neftune_alpha / sqrt(L C), where L (row_lengths) is the number of tokens of the row. Transformers uses the length
  // of the padded batch instead. The random numbers (Philox) depend on the row's number and the token's position.
  ValueId with_noise(ValueId x);

  // The routers of all layers with experts, if a loss of routers is trained (router_loss.h): the scores [T,E] and the
  // numbers of the chosen experts i32[T,k].
  struct Router {
    ValueId scores, chosen;
  };
  std::vector<Router> routers;

  // Whether the graph is built only to list its weights. It is then never computed, so a family may declare weights in
  // the order of its checkpoints, even if it uses them in another order.
  bool declaring() const { return declared_ != nullptr; }

 private:
  // The block scheme in which a GGUF file has this table or head (Quantization::of_file); "": floats.
  std::string scheme_in_file(const std::string& name, int64_t columns) const;
  // The output of the layer `at` with its adapter (adapter.h). w, bias: the layer's own. rounded: see quantize().
  ValueId adapted(const std::string& at, ValueId x, ValueId w, ValueId bias, const LinearLayer& o,
                  DType rounded);
  ValueId adapter_dropout(const std::string& at, ValueId x, LinearLayer::Rows rows);
  ValueId first_rows();  // index of the first token of each sequence, i32[S]; -1 for an empty one
  ValueId filled_rows(bool last);  // first_rows(), or the indices of the last tokens
  ValueId cache_state(const std::string& name, int64_t pages, int64_t width);
  void add_state(const std::string& name, Role role, bool trainable, const Type& type);

  std::map<std::string, ValueId> params_;
  std::map<std::string, ValueId> cached_;  // cache states after this program's writes, by name
  DeclaredWeights* const declared_;
  bool in_encoder_ = false;
};

// The output layer of a head: logits [N,V] = x [N,C] times the transpose of weight [V,C], plus bias [V]. It is not yet
// computed: a loss takes the layer itself (linear_cross_entropy), so that the large logits need not be in memory.
// softcap c > 0: the logits z become c tanh(z / c); 0: none.
struct HeadLayer {
  ValueId x, weight, bias = kNoValue;
  double softcap = 0;
};

ValueId logits_of(Builder& b, const HeadLayer& head);  // computes the logits
// ops::linear_cross_entropy of the head with `labels` i32[N]. `scale` and `train`: as in that op.
ops::CrossEntropy cross_entropy_of(Builder& b, const HeadLayer& head, ValueId labels, ValueId scale,
                                   bool train, double label_smoothing = 0);

// The names of a layer's cache states, `which` 'k' or 'v': "cache.3.k"; of the second cache: "cross.3.k".
std::string cache_name(int64_t layer, char which);
std::string cross_name(int64_t layer, char which);
// The name of a state that a layer carries: "carried.3.conv". kCarriedState: the beginning of all these names.
inline constexpr const char* kCarriedState = "carried.";
std::string carried_name(int64_t layer, const std::string& which);

// A table of sinusoidal positions (arXiv 1706.03762), [rows,width], row-major. Row p has the sines
// sin(p / 10000^(2j/width)) for j < ceil(width/2), then the cosines of the same angles; in the paper sines and cosines
// alternate.
std::vector<float> sinusoids(int64_t rows, int64_t width);

}  // namespace hone
