// The builder of a family's graph: inputs, layers and attention of the program under construction.
// A layer is declared where it is used; Family::params runs the same code once more to list the
// weights.
//
// Letters: T packed tokens, S sequences, C hidden size, H heads, G key/value heads, D head size, V
// vocabulary, F inner size of the MLP.
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

// The weights that the graph of a config declares, in the order of first use.
struct DeclaredWeights {
  std::vector<ParamSpec> params;
  std::vector<ConstantSpec> constants;
};

// Inputs of a model of tokens; i32[T], i32[T], i32[S+1].
struct TextInputs {
  ValueId ids = kNoValue, positions = kNoValue, cu_seqlens = kNoValue;
  ValueId sample_ids = kNoValue, rng = kNoValue;  // train: i64[T], i64[2]
  ValueId token_types = kNoValue;                 // i32[T], encoders; none: 0 everywhere
  ValueId label_rows = kNoValue;                  // i32[M], see model_head; < 0: no row
  ValueId row_lengths = kNoValue;  // f32[T], tokens of each token's sequence; for with_noise
};

// Inputs of a model of images (image_model.h).
struct ImageInputs {
  ValueId pixels = kNoValue;       // f32[B,height,width,channels], normalised
  ValueId image_ids = kNoValue;    // train: i64[B], of the rows; name their random numbers
  ValueId image_count = kNoValue;  // train: i32[], images that are there, the first ones; none: all
};

// Encoder-decoders: the encoder's tokens [Te] beside the decoder's, in the same number of sequences;
// sequence s of the decoder sees sequence s of the encoder.
struct EncoderInputs {
  ValueId encoder_ids = kNoValue, encoder_positions = kNoValue, encoder_cu_seqlens = kNoValue,
          encoder_sample_ids = kNoValue;
  ValueId encoded = kNoValue;  // [Te,C], see ModelGraph::encode
};

// Mode::cached: keys and values in pages. i32[S+1], i32[S,B], i32[T]. For the encoder's tokens: the
// decoder's view, i32[S+1] and i32[S,Bx], and where the encoder's tokens go, i32[Te].
struct KvCache {
  ValueId cu_cache = kNoValue, block_table = kNoValue, slots = kNoValue;
  int64_t cache_pages = 0, cache_page = 0;
  ValueId cu_cross = kNoValue, cross_table = kNoValue, cross_slots = kNoValue;
  int64_t cross_pages = 0;
  // Families whose layers carry states: rows in which a sequence's states are before this run and after it,
  // i32[S]; < 0: they begin as zeros, the sequence is idle.
  ValueId state_from = kNoValue, state_to = kNoValue;
  int64_t state_rows = 0;
};

// Options of a linear layer or a table of ids.
struct LinearLayer {
  bool bias = true;
  bool in_out = false;      // the weight is [in,out], as Conv1D's; else [out,in]
  double std = -1;          // of the first weights; < 0: ModelGraph::init_std
  const char* joint = ".";  // between the layer's name and "weight" or "bias"
  // The meaning of the rows of x: all tokens, sequences, the rows in label_rows if there are any, or
  // the rows of a table that all tokens share.
  enum class Rows { tokens, sequences, labels, table } rows = Rows::tokens;
};
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

// Heads of a layer that are not the config's: kv_heads, head_dim; 0: they are. keys_of >= 0: k and v are
// those of this earlier layer, in whose cache they are too.
struct LayerHeads {
  int64_t kv_heads = 0, head_dim = 0;
  int64_t keys_of = -1;
};

class ModelGraph : public TextInputs, public ImageInputs, public EncoderInputs, public KvCache {
 public:
  enum class Mode { train, eval, cached };
  // With `declared` the graph is built to list its weights there.
  ModelGraph(Builder& b, const ModelConfig& c, Mode mode, DeclaredWeights* declared = nullptr)
      : b(b),
        config(c),
        mode(mode),
        init_std(c.real("initializer_range", 0.02)),
        declared_(declared) {}

  Builder& b;
  const ModelConfig& config;
  const Mode mode;
  double init_std;       // of the normal weights that are declared from here on
  bool of_head = false;  // further declarations belong to a head (ParamSpec::of_head)
  // The group of layers of the weights declared from here on, from the input: 0, 1, ...; the last group is the head's.
  // Families of images count as timm's group_matcher does; the others leave it at 0.
  int64_t depth = 0;

  // Adds weights as states (trainable as asked) and tables as constants.
  void bind(const DeclaredWeights& weights, bool trainable);

  // --- weights: declared and used by one call. To use a weight twice, declare it twice in the same
  // way, or get it by param().
  // One in blocks is [out,in] whatever its spec, a stack [E,out,in].
  ValueId weight(ParamSpec spec);
  // Gives the weight of the layer `at` the form of the config's quantization; returns the type to which its product
  // rounds both operands.
  DType quantize(ParamSpec& spec, const std::string& at);
  // A weight that was declared before.
  ValueId param(const std::string& name) const;
  // An embedding of ids [rows,channels].
  ValueId table(const std::string& name, int64_t rows, int64_t channels, TableOptions o = {});
  // A matrix that is not a table of ids, such as an untied head. std < 0: init_std.
  ValueId matrix(const std::string& name, int64_t rows, int64_t columns, double std = -1);
  ValueId zeros(const std::string& name, int64_t n, std::vector<std::string> also = {});
  ValueId constant(ConstantSpec spec);

  // --- layers: x [T,K] with the weights `at`.weight and `at`.bias ---------------------------------
  ValueId linear(const std::string& at, ValueId x, int64_t out, const LinearLayer& o = {});
  ValueId layer_norm(const std::string& at, ValueId x, double eps,
                     std::pair<std::vector<std::string>, std::vector<std::string>> also = {});
  ValueId rms_norm(const std::string& at, ValueId x, double eps, double ones = 1);

  // dropout(x) + residual; outside training x + residual. The scope names the place.
  ValueId dropout(ValueId x, double p, ValueId residual = kNoValue);
  // dropout(x) of x [S,C], one row for each sequence. The mask is that of the first tokens.
  ValueId dropout_of_sequences(ValueId x, double p);
  // dropout(x) of the rows of a table, one mask for all tokens of a step.
  ValueId dropout_of_table(ValueId x, double p);
  // An upper bound of the lengths of sequences in this program, cached tokens included.
  int64_t longest() const;
  // x [T,C] -> [S,C], the first token of each sequence; zeros for empty ones.
  ValueId first_tokens(ValueId x);
  // x [T,C] -> [S,C], the last token of each sequence; zeros for empty ones.
  ValueId last_tokens(ValueId x);
  // Self-attention with the run's boundaries, or (causal alone) against the layer's cache.
  // q [T,H*D] with k, v [T,G*D], or a fused q = [T,(H+2G)*D]; bias [H,2*longest()-1] as
  // ops::attention has it, and so softcap and sinks. While the encoder is built, T, the boundaries and the
  // heads are the encoder's.
  ValueId self_attention(int64_t layer, ValueId q, ValueId k, ValueId v, double scale,
                         double dropout_p, int64_t window = 0, bool causal = true,
                         ValueId bias = kNoValue, double softcap = 0, ValueId sinks = kNoValue,
                         LayerHeads heads = {});

  // A filter of `taps` taps for each channel of x [T,C], over the tokens of each sequence (ops::causal_conv1d),
  // with the weights `at`.weight [C,1,taps] and `at`.bias. The last rows are the layer's state "conv".
  ValueId causal_conv(int64_t layer, const std::string& at, ValueId x, int64_t taps, bool bias);
  // A state of `width` elements that the layer carries through a text, Mode::cached. carried(): the sequences'
  // states before these tokens [S,width]; carry(): after them.
  ValueId carried(int64_t layer, const std::string& which, int64_t width);
  void carry(int64_t layer, const std::string& which, ValueId after);

  // The decoder's queries q [Td,H*D] over the encoder's tokens, by `keys_of` or from the cache,
  // where every sequence has one query.
  ValueId cross_attention(int64_t layer, ValueId q, double scale, double dropout_p,
                          CrossKeys (*keys_of)(ModelGraph&, int64_t layer));
  // Builds the encoder. While it runs, ids, positions, cu_seqlens and sample_ids are the encoder's.
  void encode(ValueId (*encoder)(ModelGraph&));
  // Puts the keys and values of the encoder's tokens into the cache, for each layer of the decoder.
  void cache_cross_keys(CrossKeys (*keys_of)(ModelGraph&, int64_t layer));
  // Rows of an embedding; the row of config.padding_token takes no gradient.
  ValueId embed(ValueId table);
  // x [T,C], the embeddings of the tokens, with NEFTune's noise in training (arXiv 2310.05914): uniform
  // between +-neftune_alpha / sqrt(L C) for a row of L tokens, by Philox from the row's number and the token's
  // place in it. As Transformers', whose L is the length of the padded batch.
  ValueId with_noise(ValueId x);

  // Routers of layers with experts, in training with a loss of routers (router_loss.h).
  struct Router {
    ValueId scores, chosen;  // [T,E], i32[T,k]
  };
  std::vector<Router> routers;

  // Whether the graph is built to list its weights. It is never computed then, so a family may name
  // weights in the order of its checkpoints, even if it uses them in another order.
  bool declaring() const { return declared_ != nullptr; }

 private:
  // The blocks in which a GGUF file keeps the table or head beside an adapter; "": it is in f32.
  std::string scheme_in_file(const std::string& name, int64_t columns) const;
  // The output of the layer with its adapter (adapter.h): w and bias are the layer's own, and so is
  // the type to which its product rounds.
  ValueId adapted(const std::string& at, ValueId x, ValueId w, ValueId bias, const LinearLayer& o,
                  DType rounded);
  ValueId adapter_dropout(const std::string& at, ValueId x, LinearLayer::Rows rows);
  ValueId first_rows();            // i32[S], -1 for empty sequences
  ValueId filled_rows(bool last);  // the same, or the last ones
  ValueId cache_state(const std::string& name, int64_t pages, int64_t width);
  void add_state(const std::string& name, Role role, bool trainable, const Type& type);

  std::map<std::string, ValueId> params_;
  std::map<std::string, ValueId> cached_;  // the new versions of cache states
  DeclaredWeights* const declared_;
  bool in_encoder_ = false;
};

// The last linear layer of a head: logits [N,V] = x [N,C] weight^T [V,C] + bias [V]. Losses take
// it as it is (linear_cross_entropy), so that logits of a vocabulary need not exist.
// softcap c > 0: the logits z become c tanh(z / c).
struct HeadLayer {
  ValueId x, weight, bias = kNoValue;
  double softcap = 0;
};

ValueId logits_of(Builder& b, const HeadLayer& head);
// ops::linear_cross_entropy of these logits with `labels` i32[N].
ops::CrossEntropy cross_entropy_of(Builder& b, const HeadLayer& head, ValueId labels, ValueId scale,
                                   bool train, double label_smoothing = 0);

// The name of the cache state of a layer: "cache.3.k"; of the encoder's tokens: "cross.3.k".
std::string cache_name(int64_t layer, char which);
std::string cross_name(int64_t layer, char which);
// The name of a state that a layer carries: "carried.3.conv".
inline constexpr const char* kCarriedState = "carried.";
std::string carried_name(int64_t layer, const std::string& which);

// Positions as sines and cosines, [rows,width]: column j < ceil(width/2) is sin(p /
// 10000^(2j/width)), the rest the cosines of the same angles (arXiv 1706.03762 with its columns
// sorted).
std::vector<float> sinusoids(int64_t rows, int64_t width);

}  // namespace hone
