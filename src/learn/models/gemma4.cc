// Gemma 4's text model (https://ai.google.dev/gemma/docs/core, Transformers' gemma4): Gemma 3's norms around both
// sublayers, with these differences:
//   - layers without a window have larger heads, of which a share turns, and may take their keys as values
//   - the last num_kv_shared_layers layers read the keys and values of the last layer of their kind before them
//   - a second table of words gives each layer its own small input (as Gemma 3n)
//   - the output of a layer is times a number that is not trained
//   - with enable_moe_block, experts beside the MLP, which read the residual stream before its norm
#include "learn/models/activations.h"
#include "learn/models/config_keys.h"
#include "learn/models/errors.h"
#include "learn/models/gemma4_layers.h"
#include "learn/models/llama_blocks.h"

namespace hone {
namespace {

using nlohmann::json;

// Defaults of Transformers' config class.
constexpr const char* kUsualGemma4 =
    R"({"vocab_size": 262144, "hidden_size": 2304, "intermediate_size": 9216,
    "num_hidden_layers": 30, "num_attention_heads": 8, "num_key_value_heads": 4,
    "head_dim": 256, "hidden_activation": "gelu_pytorch_tanh", "max_position_embeddings": 131072,
    "initializer_range": 0.02, "rms_norm_eps": 1e-06, "tie_word_embeddings": true,
    "attention_bias": false, "attention_dropout": 0.0, "pad_token_id": 0, "bos_token_id": 2,
    "eos_token_id": 1, "sliding_window": 512, "final_logit_softcapping": null,
    "use_bidirectional_attention": null, "vocab_size_per_layer_input": 262144,
    "hidden_size_per_layer_input": 256, "attention_k_eq_v": false, "num_kv_shared_layers": 0,
    "enable_moe_block": false, "use_double_wide_mlp": false, "num_experts": null,
    "top_k_experts": null, "moe_intermediate_size": null,
    "rope_parameters": {
      "full_attention": {"rope_theta": 1000000.0, "rope_type": "proportional",
                         "partial_rotary_factor": 0.25},
      "sliding_attention": {"rope_theta": 10000.0, "rope_type": "default"}}})";
constexpr ExpertStyle kGemma4Experts = {
    .at = "", .act = "gelu_pytorch_tanh", .chosen = "top_k_experts", .is_merged = true};
constexpr int64_t kUsualLayers = 30;

// --- config.json --------------------------------------------------------------------------------

Error bad_config(const std::string& what) { return Error(err::kBadConfig, "config.json: " + what); }
Error no_gemma4(const std::string& what) {
  return Error(err::kConfigNotOffered, fmt::format("config.json: {} is not supported", what));
}

// Every sixth layer is without a window unless layer_types says otherwise, and the last always is.
Status set_layer_types(ModelConfig& c) {
  HONE_TRY(name_layers(c, kUsualLayers, [](int64_t i) {
    return (i + 1) % kGemma4Period == 0 ? kFullAttention : kSlidingAttention;
  }));
  json& types = c.config["layer_types"];
  if (types.is_array() && !types.empty()) types.back() = kFullAttention;
  return Ok{};
}

// per_layer_config may change the heads of the layers without a window, alike in all of them.
Status check_layer_sizes(const ModelConfig& c) {
  const auto found = c.config.find("per_layer_config");
  if (found == c.config.end() || found->is_null()) return Ok{};
  if (!found->is_object()) return bad_config("per_layer_config is not an object");
  for (const auto& [layer, sizes] : found->items()) {
    if (!sizes.is_object() || sizes != found->front())
      return no_gemma4("per_layer_config with layers that differ");
    for (const auto& [key, value] : sizes.items())
      if ((key != "head_dim" && key != "num_key_value_heads") || !value.is_number_integer() ||
          value < 1 || value > kLargestSize)
        return no_gemma4(fmt::format("'{}' {} in per_layer_config", key, value.dump()));
  }
  for (int64_t i = 0; i < c.layers; ++i)
    if (!found->empty() && gemma4_is_full(c, i) != found->contains(std::to_string(i)))
      return no_gemma4("per_layer_config for other layers than those without a window");
  return Ok{};
}

Status check_shared_layers(const ModelConfig& c) {
  const int64_t shared = HONE_TRY(c.integer("num_kv_shared_layers", 0));
  HONE_TRY(check_range("'num_kv_shared_layers'", shared, 0, c.layers - 1));
  for (int64_t i = gemma4_first_shared(c); i < c.layers; ++i)
    if (gemma4_keys_of(c, i) < 0)
      return bad_config(
          fmt::format("layer {} reads the keys of an earlier layer of its kind, and "
                      "there is none before layer {}",
                      i, gemma4_first_shared(c)));
  return Ok{};
}

Status check_rotation_parts(const ModelConfig& c) {
  const json& rope = c.config["rope_parameters"];
  for (const char* part : {kFullAttention, kSlidingAttention})
    if (!rope.is_object() || !rope.contains(part) || !rope[part].is_object())
      return bad_config(fmt::format("rope_parameters has no part '{}'", part));
  return Ok{};
}

Status read_gemma4_config(ModelConfig& c) {
  if (c.text("use_bidirectional_attention", "vision") != "vision")
    return no_gemma4(fmt::format("use_bidirectional_attention '{}'",
                                 c.text("use_bidirectional_attention", "")))
        .todo("use a model that predicts the next token");
  HONE_TRY(set_layer_types(c));
  if (const auto rope = c.config.find("rope_parameters"); rope != c.config.end() && rope->is_null())
    c.config.erase("rope_parameters");
  for (const char* key : {"global_head_dim", "num_global_key_value_heads"})
    HONE_TRY(check_range(fmt::format("'{}'", key), HONE_TRY(c.integer(key, 1)), 1, kLargestSize));
  const LlamaStyle style{.rotation = {.local_theta_key = ""}, .act = "gelu_pytorch_tanh"};
  HONE_TRY(read_decoder_config(
      c, kUsualGemma4, style, {"per_layer_config", "global_head_dim", "num_global_key_value_heads"},
      "hidden_activation"));
  if (c.flag("enable_moe_block", false)) HONE_TRY(check_experts(c, kGemma4Experts));
  HONE_TRY(check_layer_count(c));
  HONE_TRY(check_layer_sizes(c));
  HONE_TRY(check_shared_layers(c));
  HONE_TRY(check_rotation_parts(c));
  const LayerHeads full = gemma4_full_heads(c);
  if (full.head_dim % 2 != 0 || c.heads % full.kv_heads != 0)
    return bad_config(
        fmt::format("{} heads with {} of keys, of size {}, in layers without a window", c.heads,
                    full.kv_heads, full.head_dim));
  HONE_TRY(check_rotation(c, gemma4_rotation(c)));
  if (c.real("final_logit_softcapping", 0) < 0)
    return bad_config("final_logit_softcapping is negative");
  const int64_t inputs = HONE_TRY(c.integer("hidden_size_per_layer_input", 0));
  HONE_TRY(check_range("'hidden_size_per_layer_input'", inputs, 0, kLargestSize));
  if (inputs > 0 && HONE_TRY(c.integer("vocab_size_per_layer_input")) < c.vocab)
    return bad_config("vocab_size_per_layer_input is less than vocab_size");
  c.window = HONE_TRY(c.integer("sliding_window", 0));
  return Ok{};
}

// --- the graph ----------------------------------------------------------------------------------

class Gemma4Layers {
 public:
  explicit Gemma4Layers(ModelGraph& g)
      : g_(g),
        b_(g.b),
        c_(g.config),
        eps_(c_.real("rms_norm_eps", 1e-6)),
        inner_(c_.integer("intermediate_size").value()),
        inputs_(c_.integer("hidden_size_per_layer_input", 0).value()),
        full_(gemma4_full_heads(c_)),
        rotation_(g, gemma4_rotation(c_)) {}

  // The inputs of all layers, [T,layers * inputs]: of the words and of the embedding x [T,C].
  void make_inputs(ValueId x) {
    if (inputs_ == 0) return;
    const int64_t width = c_.layers * inputs_, T = b_.type(x).shape[0];
    const int64_t words = c_.integer("vocab_size_per_layer_input").value();
    ValueId own =
        ops::embedding(b_, g_.table("model.embed_tokens_per_layer.weight", words, width), g_.ids);
    own = times(b_, own, std::sqrt(static_cast<double>(inputs_)));
    ValueId of_x = g_.linear("model.per_layer_model_projection", x, width, {.bias = false});
    of_x = times(b_, of_x, 1 / std::sqrt(static_cast<double>(c_.hidden)));
    of_x = ops::reshape(b_, of_x, {T * c_.layers, inputs_});
    of_x = norm("model.per_layer_projection_norm", of_x);
    of_x = ops::reshape(b_, of_x, {T, width});
    all_inputs_ = times(b_, ops::add(b_, of_x, own), std::sqrt(0.5));
  }

  ValueId layer(int64_t i, ValueId x) {
    const std::string h = fmt::format("model.layers.{}.", i);
    Builder::Scope block(b_, fmt::format("layers.{}", i));
    {
      Builder::Scope s(b_, "self_attn");
      const ValueId a = attend(i, h + "self_attn.", norm(h + "input_layernorm", x));
      x = ops::add(b_, x, norm(h + "post_attention_layernorm", a));
    }
    {
      Builder::Scope s(b_, "mlp");
      ValueId m = feed_forward(i, h + "mlp.", norm(h + "pre_feedforward_layernorm", x));
      if (has_experts_) {
        m = norm(h + "post_feedforward_layernorm_1", m);
        const Routing routing = route(h + "router.", x);
        const ValueId e =
            experts_of(g_, kGemma4Experts, h, norm(h + "pre_feedforward_layernorm_2", x), routing);
        m = ops::add(b_, m, norm(h + "post_feedforward_layernorm_2", e));
      }
      x = ops::add(b_, x, norm(h + "post_feedforward_layernorm", m));
    }
    if (inputs_ > 0) {
      Builder::Scope s(b_, "per_layer_input");
      const ValueId input = ops::slice(b_, all_inputs_, 1, i * inputs_, (i + 1) * inputs_);
      const ValueId gate = g_.linear(h + "per_layer_input_gate", x, inputs_, {.bias = false});
      const ValueId p = g_.linear(h + "per_layer_projection", ops::gate(b_, gate, input, kind_),
                                  c_.hidden, {.bias = false});
      x = ops::add(b_, x, norm(h + "post_per_layer_input_norm", p));
    }
    const ValueId scale = g_.weight({.name = h + "layer_scalar",
                                     .shape = {1},
                                     .init = ParamSpec::Init::ones,
                                     .decay = false,
                                     .trained = false});
    return ops::mul(b_, x, ops::reshape(b_, scale, {}));
  }

  ValueId norm(const std::string& at, ValueId x) { return g_.rms_norm(at, x, eps_); }

 private:
  struct Keys {
    ValueId k, v;
  };

  // x [T,C] -> its experts. Shares sum to 1 and are times a number of each expert.
  Routing route(const std::string& at, ValueId x) {
    const int64_t E = c_.integer("num_experts").value(), k = c_.integer("top_k_experts").value();
    const int64_t C = c_.hidden, T = b_.type(x).shape[0];
    const auto ones = [&](const char* name, int64_t n) {
      return g_.weight({at + name, {n}, ParamSpec::Init::ones, 0});
    };
    const ValueId plain =
        ops::constant(b_, 1 / std::sqrt(static_cast<double>(C)), {DType::f32, {C}});
    ValueId y = ops::rms_norm(b_, x, ops::mul(b_, ones("scale", C), plain), eps_).y;
    ParamSpec proj{at + "proj.weight", {E, C}};
    proj.std = g_.init_std;
    y = ops::linear(b_, y, g_.weight(std::move(proj)), {.trans_w = true});
    const ops::TopK top = ops::top_k(b_, ops::softmax(b_, y), k);
    const Shape shape = b_.type(top.values).shape;
    const ValueId sums = ops::broadcast(b_, ops::reduce_sum(b_, top.values, {1}), shape, {0});
    const ValueId scales = ops::reshape(b_, ones("per_expert_scale", E), {E, 1});
    const ValueId scale = ops::gather_rows(b_, scales, ops::reshape(b_, top.columns, {T * k}));
    return {top.columns,
            ops::mul(b_, ops::div(b_, top.values, sums), ops::reshape(b_, scale, shape))};
  }

  // A norm of each head of x [T,heads*D]; `at` empty: without weights.
  ValueId norm_of(const std::string& at, ValueId x, int64_t head_dim) {
    return by_heads(b_, x, head_dim, [&](ValueId heads) {
      if (!at.empty()) return norm(at, heads);
      const ValueId ones = ops::constant(b_, 1, {DType::f32, {head_dim}});
      return ops::rms_norm(b_, heads, ones, eps_).y;
    });
  }

  ValueId attend(int64_t i, const std::string& at, ValueId y) {
    const bool full = gemma4_is_full(c_, i), bias = c_.flag("attention_bias", false);
    LayerHeads heads = full ? full_ : LayerHeads{.kv_heads = c_.kv_heads, .head_dim = c_.head_dim};
    heads.keys_of = gemma4_keys_of(c_, i);
    const auto turned = [&](const char* which, ValueId x, int64_t of) {
      x = norm_of(fmt::format("{}{}_norm", at, which), x, heads.head_dim);
      return rotation_.turn(x, of, !full);
    };
    ValueId q = g_.linear(at + "q_proj", y, c_.heads * heads.head_dim, {.bias = bias});
    q = turned("q", q, c_.heads);
    if (heads.keys_of < 0) {
      const int64_t width = heads.kv_heads * heads.head_dim;
      const ValueId k = g_.linear(at + "k_proj", y, width, {.bias = bias});
      const ValueId v = full && c_.flag("attention_k_eq_v", false)
                            ? k
                            : g_.linear(at + "v_proj", y, width, {.bias = bias});
      keys_[i].k = turned("k", k, heads.kv_heads);
      keys_[i].v = norm_of("", v, heads.head_dim);
    }
    const Keys& keys = keys_.at(heads.keys_of < 0 ? i : heads.keys_of);
    const ValueId a = g_.self_attention(i, q, keys.k, keys.v, 1, c_.real("attention_dropout", 0),
                                        full ? 0 : c_.window, true, kNoValue, 0, kNoValue, heads);
    return g_.linear(at + "o_proj", a, c_.hidden, {.bias = bias});
  }

  ValueId feed_forward(int64_t i, const std::string& at, ValueId y) {
    const int64_t F = inner_ * (gemma4_is_wide(c_, i) ? 2 : 1);
    const ValueId gate = g_.linear(at + "gate_proj", y, F, {.bias = false});
    const ValueId value = g_.linear(at + "up_proj", y, F, {.bias = false});
    return g_.linear(at + "down_proj", ops::gate(b_, gate, value, kind_), c_.hidden,
                     {.bias = false});
  }

  ModelGraph& g_;
  Builder& b_;
  const ModelConfig& c_;
  const double eps_;
  const int64_t inner_, inputs_;
  const bool has_experts_ = c_.flag("enable_moe_block", false);
  const LayerHeads full_;
  const Rotation rotation_;
  const std::string kind_ = activation_kind("gelu_pytorch_tanh");
  ValueId all_inputs_ = kNoValue;
  std::map<int64_t, Keys> keys_;
};

ValueId gemma4_body(ModelGraph& g) {
  Gemma4Layers layers(g);
  ValueId x;  // [T,C]
  {
    Builder::Scope s(g.b, "embed");
    x = g.with_noise(
        times(g.b, g.embed(llama_words(g)), std::sqrt(static_cast<double>(g.config.hidden))));
    layers.make_inputs(x);
  }
  for (int64_t i = 0; i < g.config.layers; ++i) x = layers.layer(i, x);
  Builder::Scope s(g.b, "norm");
  return layers.norm("model.norm", x);
}

}  // namespace

Family family_gemma4() {
  return {
      .name = "gemma4",
      .model_types = {{"gemma4_text", "Gemma4", kUsualGemma4, {"q_proj", "v_proj"}, gemma4_gguf()}},
      .heads = {{Head::causal_lm, "ForCausalLM"}},
      .read_config = read_gemma4_config,
      .body = gemma4_body,
      .head = capped_head,
      .dropouts = {"attention_dropout"},
      .body_prefix = "model.",
      // Files have keys and values of layers that read another's.
      .unread = {".rotary_emb.inv_freq", ".self_attn.k_proj.weight", ".self_attn.v_proj.weight",
                 ".self_attn.k_norm.weight"},
      .separate_head = "lm_head.weight",
      .module_order = {{"embed_tokens", "layers", "norm", "self_attn", "mlp", "input_layernorm",
                        "post_attention_layernorm", "pre_feedforward_layernorm",
                        "post_feedforward_layernorm", "per_layer_input_gate",
                        "per_layer_projection", "post_per_layer_input_norm", "router", "experts",
                        "post_feedforward_layernorm_1"}},
      .safe_in_f16 = false};
}

}  // namespace hone
