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
  enum class Init { normal, zeros, ones } init = Init::normal;
  double std = 0.02;  // of the normal distribution
  bool decay = true;  // weight decay applies (not to biases and norms)
};

// What every decoder has, read from config.json; families keep the rest in `config`.
struct ModelConfig {
  nlohmann::json config;  // whole, as read
  std::string family;     // "gpt2"
  int64_t vocab = 0, hidden = 0, layers = 0, heads = 0, kv_heads = 0, head_dim = 0,
          max_positions = 0;
  bool tied = true;    // the head is the input embedding
  int64_t window = 0;  // sliding attention window; 0: none

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
  ValueId ids, positions, cu_seqlens;             // i32[T], i32[T], i32[S+1]
  ValueId sample_ids = kNoValue, rng = kNoValue;  // train: i64[T], i64[2]
  ValueId cu_cache = kNoValue, block_table = kNoValue,
          slots = kNoValue;                 // cached: i32[S+1], i32[S,B], i32[T]
  int64_t cache_pages = 0, cache_page = 0;  // cached

  // The weight of that name.
  ValueId param(const std::string& name);
  bool has_param(const std::string& name) const { return params_.contains(name); }
  void bind_param(const std::string& name, ValueId v) { params_[name] = v; }
  // A table that the family computes from its config, such as inv_freq; see Family::constants.
  ValueId constant(const std::string& name) { return param(name); }

  // dropout(x) + residual; outside training x + residual. The scope names the place.
  ValueId dropout(ValueId x, double p, ValueId residual = kNoValue);
  // Causal self-attention with the run's boundaries, or against the layer's cache.
  // q [T,H*D] with k, v [T,G*D], or a fused q = [T,(H+2G)*D].
  ValueId self_attention(int64_t layer, ValueId q, ValueId k, ValueId v, double scale,
                         double dropout_p, int64_t window = 0);

 private:
  std::map<std::string, ValueId> params_;
};

struct ConstantTable {
  std::string name;
  Shape shape;
  std::vector<float> values;
};

struct Family {
  std::string name;                                 // file and shelf name
  std::vector<std::string> model_types;             // values of config.json's model_type
  std::string architecture;                         // written to config.json when absent
  Status (*read_config)(ModelConfig& c) = nullptr;  // fills and checks the common fields
  std::vector<ParamSpec> (*params)(const ModelConfig& c) = nullptr;
  std::vector<ConstantTable> (*constants)(const ModelConfig& c) = nullptr;  // optional
  ValueId (*decoder)(ModelGraph& g) = nullptr;          // -> [T,C], the input of the head
  std::string (*head)(const ModelConfig& c) = nullptr;  // name of the [V,C] weight of the head
  // Another name under which older checkpoints keep the weight; nullptr: none.
  std::string (*older_name)(const std::string& name) = nullptr;
};

const std::vector<Family>& families();

// Family and common fields of a config.json. Unknown model_type, missing keys and values that hone
// does not offer are Errors that name the key.
Result<ModelConfig> read_model_config(const nlohmann::json& config);
const Family& family_of(const ModelConfig& c);
int64_t parameter_count(const ModelConfig& c);

// Adds the model's weights as states (trainable as asked) and its tables as constants, and binds
// them to the graph.
void add_model_states(ModelGraph& g, bool trainable);

// The name of the cache state of a layer: "cache.3.k".
std::string cache_name(int64_t layer, char which);

}  // namespace hone
