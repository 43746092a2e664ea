#include "learn/models/llama_blocks.h"

#include <tuple>

#include "learn/models/activations.h"
#include "learn/models/config_keys.h"
#include "learn/models/errors.h"

namespace hone {
namespace {

constexpr const char* kLlamaHead = "lm_head.weight";

int64_t window_of(const ModelConfig& c, const LlamaStyle& style, int64_t layer) {
  if (c.window == 0) return 0;
  if (auto it = c.config.find("layer_types");
      it != c.config.end() && it->is_array() && layer < static_cast<int64_t>(it->size()))
    return (*it)[static_cast<size_t>(layer)] == "sliding_attention" ? c.window : 0;
  if (style.window_period > 0) return (layer + 1) % style.window_period != 0 ? c.window : 0;
  return layer >= style.first_window_layer ? c.window : 0;
}

// The common fields, and the form of the rotation.
Status read_sizes(ModelConfig& c, const RotationStyle& rotation, int64_t positions,
                  int64_t head_dim) {
  c.vocab = HONE_TRY(c.integer("vocab_size"));
  c.hidden = HONE_TRY(c.integer("hidden_size"));
  c.layers = HONE_TRY(c.integer("num_hidden_layers"));
  c.heads = HONE_TRY(c.integer("num_attention_heads"));
  c.kv_heads = HONE_TRY(c.integer("num_key_value_heads", c.heads));
  c.max_positions = HONE_TRY(c.integer("max_position_embeddings", positions));
  c.tied = c.flag("tie_word_embeddings", false);
  if (c.heads < 1) return Error(err::kBadConfig, "config.json: num_attention_heads is 0");
  c.head_dim = HONE_TRY(c.integer("head_dim", head_dim > 0 ? head_dim : c.hidden / c.heads));
  if (c.head_dim % 2 != 0)
    return Error(err::kBadConfig,
                 fmt::format("config.json: the head size {} is odd, rotary positions need pairs",
                             c.head_dim));
  return check_rotation(c, rotation);
}

Status check_act(const ModelConfig& c, const char* key, const std::string& wanted) {
  const std::string act = c.text(key, wanted);
  const bool same = act == wanted || (knows_activation(act) && knows_activation(wanted) &&
                                      activation_kind(act) == activation_kind(wanted));
  if (same) return Ok{};
  return Error(err::kConfigNotOffered,
               fmt::format("config.json: {} '{}' is not supported", key, act))
      .todo(fmt::format("{} works", wanted));
}

}  // namespace

Status read_llama_config(ModelConfig& c, int64_t positions, int64_t head_dim) {
  HONE_TRY(read_sizes(c, {}, positions, head_dim));
  HONE_TRY(check_act(c, "hidden_act", "silu"));
  HONE_TRY(c.integer("intermediate_size"));
  HONE_TRY(c.integer("max_window_layers", 28));
  return Ok{};
}

Status read_decoder_config(ModelConfig& c, const char* usual, const LlamaStyle& style,
                           std::initializer_list<const char*> own, const char* act_key) {
  if (style.experts) name_expert_count(c, *style.experts);
  std::vector<const char*> also(own);
  if (style.experts) also.insert(also.end(), {"num_experts", "num_local_experts"});
  also.insert(also.end(), {"rope_theta", "rope_scaling", "rope_parameters", "layer_types",
                           "head_dim", style.rotation.theta_key, style.rotation.share_key});
  if (style.rotation.local_theta_key != nullptr) also.push_back(style.rotation.local_theta_key);
  const nlohmann::json usual_keys = HONE_TRY(parse_json(usual, "usual"));
  HONE_TRY(accept_keys(c, usual_keys, also));
  HONE_TRY(check_layer_types(c, style.mixing_type));
  add_missing_keys(c, usual_keys,
                   {"rope_theta", "rope_scaling", "rope_parameters", style.rotation.theta_key});
  HONE_TRY(read_sizes(c, style.rotation, 2048, 0));
  if (!style.only_experts) HONE_TRY(c.integer("intermediate_size"));
  if (style.experts) HONE_TRY(check_experts(c, *style.experts));
  return check_act(c, act_key, style.act);
}

Status check_layer_types(const ModelConfig& c, const std::string& other) {
  const auto it = c.config.find("layer_types");
  if (it == c.config.end() || !it->is_array()) return Ok{};
  for (const nlohmann::json& type : *it)
    if (type != "full_attention" && type != "sliding_attention" && (other.empty() || type != other))
      return Error(err::kConfigNotOffered,
                   fmt::format("config.json: layer_types has {}, which is not supported",
                               type.dump()))
          .todo(other.empty() ? "full_attention and sliding_attention work"
                              : "full_attention and " + other + " work");
  return Ok{};
}

bool names_layers(const ModelConfig& c) {
  const auto it = c.config.find("layer_types");
  return it != c.config.end() && !it->is_null();
}

Status name_layers(ModelConfig& c, int64_t usual,
                   const std::function<const char*(int64_t layer)>& type) {
  if (names_layers(c)) return Ok{};
  const int64_t layers = HONE_TRY(c.integer("num_hidden_layers", usual));
  HONE_TRY(check_range("'num_hidden_layers'", layers, 1, kMostLayers));
  nlohmann::json types = nlohmann::json::array();
  for (int64_t i = 0; i < layers; ++i) types.push_back(type(i));
  c.config["layer_types"] = std::move(types);
  return Ok{};
}

Status check_layer_count(const ModelConfig& c) {
  const auto it = c.config.find("layer_types");
  if (it == c.config.end() || it->is_null()) return Ok{};
  if (it->is_array() && static_cast<int64_t>(it->size()) == c.layers) return Ok{};
  return Error(err::kBadConfig,
               fmt::format("config.json: layer_types is not a list of {} layers", c.layers));
}

namespace {

double norm_eps(const ModelConfig& c) {
  for (const char* key :
       {"rms_norm_eps", "layer_norm_eps", "norm_epsilon", "norm_eps", "layer_norm_epsilon"})
    if (c.config.contains(key)) return c.real(key, 1e-6);
  return 1e-6;
}

}  // namespace

ValueId norm_of_heads(ModelGraph& g, const std::string& at, char which, ValueId x, int64_t) {
  return by_heads(g.b, x, g.config.head_dim, [&](ValueId heads) {
    return g.rms_norm(fmt::format("{}{}_norm", at, which), heads, norm_eps(g.config));
  });
}

ValueId norm_of_rows(ModelGraph& g, const std::string& at, char which, ValueId x, int64_t) {
  return g.rms_norm(fmt::format("{}{}_norm", at, which), x, norm_eps(g.config));
}

ValueId rms_norm_from_one(ModelGraph& g, const std::string& at, ValueId x) {
  const ValueId w = g.zeros(at + ".weight", g.b.type(x).shape.back());
  const ValueId one = ops::constant(g.b, 1, {DType::f32, {}});
  return ops::rms_norm(g.b, x, ops::add(g.b, w, one), norm_eps(g.config)).y;
}

ValueId norm_of_heads_from_one(ModelGraph& g, const std::string& at, char which, ValueId x,
                               int64_t) {
  return by_heads(g.b, x, g.config.head_dim, [&](ValueId heads) {
    return rms_norm_from_one(g, fmt::format("{}{}_norm", at, which), heads);
  });
}

ValueId layer_norm_of(ModelGraph& g, const std::string& at, ValueId x) {
  return g.layer_norm(at, x, norm_eps(g.config));
}

ValueId scaled_layer_norm_of(ModelGraph& g, const std::string& at, ValueId x) {
  const ValueId gamma =
      g.weight({at + ".weight", {g.b.type(x).shape.back()}, ParamSpec::Init::ones, 0, false});
  return ops::layer_norm(g.b, x, gamma, kNoValue, norm_eps(g.config)).y;
}

ValueId times(Builder& b, ValueId x, double number) {
  return number == 1 ? x : ops::mul(b, x, ops::constant(b, number, {DType::f32, {}}));
}

int64_t qwen_window_layer(const ModelConfig& c) {
  return c.integer("max_window_layers", 28).value();
}

namespace {

// One decoder with its style. `x` is the residual stream [T,C].
class LlamaLayers {
 public:
  LlamaLayers(ModelGraph& g, const LlamaStyle& style)
      : g_(g),
        b_(g.b),
        c_(g.config),
        style_(style),
        inner_(style.inner > 0      ? style.inner
               : style.only_experts ? 0
                                    : c_.integer("intermediate_size").value()),
        rotation_(g, style.rotation) {}

  ValueId norm(const std::string& at, ValueId x) {
    return style_.norm != nullptr ? style_.norm(g_, at, x) : g_.rms_norm(at, x, norm_eps(c_));
  }

  ValueId layer(int64_t i, ValueId x) {
    const std::string h = fmt::format("model.layers.{}.", i);
    Builder::Scope block(b_, fmt::format("layers.{}", i));
    ValueId y;
    {
      const bool mixes = is_mixed(i);
      Builder::Scope s(b_, mixes ? "mixer" : "self_attn");
      y = before(h, style_.attention_norm, x);
      const ValueId a = mixes ? style_.mix(g_, i, h, y) : attend(i, h, y);
      x = added(h, style_.attention_out_norm, a, style_.attention_out_dropout, x);
    }
    Builder::Scope s(b_, "mlp");
    if (!style_.parallel) y = before(h, style_.mlp_norm, x);
    const auto& mixed = style_.experts;
    const bool has_experts = mixed && (mixed->is_dense == nullptr || !mixed->is_dense(c_, i));
    const ValueId m = has_experts ? experts(g_, *mixed, h, y) : feed_forward(h, y);
    return added(h, style_.mlp_out_norm, m, style_.mlp_out_dropout, x);
  }

 private:
  bool is_mixed(int64_t i) const {
    if (style_.mix == nullptr) return false;
    return c_.config["layer_types"][static_cast<size_t>(i)] == style_.mixing_type;
  }

  ValueId before(const std::string& h, const char* name, ValueId x) {
    return *name == 0 ? x : norm(h + name, x);
  }

  // x + what a sublayer gives.
  ValueId added(const std::string& h, const char* name, ValueId out, double dropout, ValueId x) {
    return g_.dropout(times(b_, before(h, name, out), style_.residual_scale), dropout, x);
  }

  ValueId attend(int64_t i, const std::string& h, ValueId y) {
    const std::string at = h + "self_attn.";
    const LinearLayer qkv{.bias = style_.qkv_bias}, output{.bias = style_.output_bias};
    const int64_t Q = c_.heads * c_.head_dim, K = c_.kv_heads * c_.head_dim;
    const int64_t window = window_of(c_, style_, i);
    const bool rotates = style_.rotates == nullptr || style_.rotates(c_, i);
    const ValueId all = style_.fused_qkv ? g_.linear(at + "qkv_proj", y, Q + 2 * K, qkv) : kNoValue;
    const auto projected = [&](char which, int64_t from, int64_t columns) {
      return all != kNoValue ? ops::slice(b_, all, 1, from, from + columns)
                             : g_.linear(fmt::format("{}{}_proj", at, which), y, columns, qkv);
    };
    ValueId gate = kNoValue;                                            // [T,H*D]
    const auto turned = [&](char which, int64_t heads, int64_t from) {  // [T,heads*D]
      ValueId q;
      if (which == 'q' && style_.gated_attention)
        std::tie(q, gate) = halves_of_heads(g_.linear(at + "q_proj", y, 2 * Q, qkv));
      else
        q = projected(which, from, heads * c_.head_dim);
      if (style_.before_rotation) q = style_.before_rotation(g_, at, which, q, heads);
      if (rotates) q = rotation_.turn(q, heads, window > 0);
      if (style_.after_rotation) q = style_.after_rotation(g_, at, which, q, heads);
      return q;
    };
    // Values are named one by one: the order in which C++ evaluates arguments is not fixed.
    ValueId q = turned('q', c_.heads, 0);
    ValueId k = turned('k', c_.kv_heads, Q);
    ValueId v = projected('v', Q + K, K);
    const double scale = style_.attention_scale > 0
                             ? style_.attention_scale
                             : 1 / std::sqrt(static_cast<double>(c_.head_dim));
    ValueId sinks = kNoValue;
    if (style_.sinks)
      sinks = g_.weight({at + "sinks", {c_.heads}, ParamSpec::Init::normal, g_.init_std});
    ValueId a = g_.self_attention(i, q, k, v, scale, c_.real("attention_dropout", 0), window,
                                  style_.causal, kNoValue, style_.attention_softcap, sinks);
    if (gate != kNoValue) a = ops::mul(b_, a, sigmoid(b_, gate));
    return g_.linear(at + style_.output, a, c_.hidden, output);
  }

  // x [T,H*2D] -> the first and the second half of each head, [T,H*D].
  std::pair<ValueId, ValueId> halves_of_heads(ValueId x) {
    const int64_t T = b_.type(x).shape[0], H = c_.heads, D = c_.head_dim;
    const ValueId heads = ops::reshape(b_, x, {T, H, 2 * D});
    const auto half = [&](int64_t from) {
      return ops::reshape(b_, ops::slice(b_, heads, 2, from, from + D), {T, H * D});
    };
    const ValueId first = half(0), second = half(D);
    return {first, second};
  }

  ValueId feed_forward(const std::string& h, ValueId y) {
    const std::string at = h + style_.mlp;
    const LinearLayer mlp{.bias = style_.mlp_bias};
    const int64_t F = inner_;
    ValueId up;
    if (!style_.gated) {
      up = acted(at, g_.linear(at + style_.up, y, F, mlp));
    } else if (style_.fused_gate_up) {
      ValueId both = g_.linear(at + "gate_up_proj", y, 2 * F, mlp);  // [T,2F]
      ValueId gate = ops::slice(b_, both, 1, 0, F);
      ValueId value = ops::slice(b_, both, 1, F, 2 * F);
      up = ops::gate(b_, gate, value, activation_kind(style_.act));
    } else {
      ValueId gate = g_.linear(at + style_.gate, y, F, mlp);  // [T,F]
      ValueId value = g_.linear(at + style_.up, y, F, mlp);
      up = ops::gate(b_, gate, value, activation_kind(style_.act));
    }
    return g_.linear(at + style_.down, up, c_.hidden, mlp);
  }

  ValueId acted(const std::string& at, ValueId x) {
    if (style_.activation != nullptr) return style_.activation(g_, at, x);
    if (style_.act != std::string_view("relu2")) return activate(b_, x, style_.act);
    const ValueId positive = ops::relu(b_, x);
    return ops::mul(b_, positive, positive);
  }

  ModelGraph& g_;
  Builder& b_;
  const ModelConfig& c_;
  const LlamaStyle& style_;
  const int64_t inner_;
  const Rotation rotation_;
};

}  // namespace

ValueId llama_body(ModelGraph& g, const LlamaStyle& style) {
  LlamaLayers layers(g, style);
  ValueId x;  // [T,C]
  {
    Builder::Scope s(g.b, "embed");
    const ValueId words = g.embed(llama_words(g));
    // Transformers adds the noise to the output of its embedding, which Gemma 3's has scaled.
    x = style.scales_in_table ? g.with_noise(times(g.b, words, style.embed_scale))
                              : times(g.b, g.with_noise(words), style.embed_scale);
    x = g.dropout(x, style.embed_dropout);
  }
  for (int64_t i = 0; i < g.config.layers; ++i) x = layers.layer(i, x);
  Builder::Scope s(g.b, "norm");
  return layers.norm(style.last_norm, x);
}

ValueId llama_words(ModelGraph& g) {
  // A writer that keeps one of two tied tensors may have kept the head.
  TableOptions o;
  if (g.config.tied) o.also = {kLlamaHead};
  o.zero_row = g.config.padding_token;
  return g.table("model.embed_tokens.weight", g.config.vocab, g.config.hidden, o);
}

HeadLayer llama_head(ModelGraph& g, ValueId hidden) {
  const ModelConfig& c = g.config;
  return {hidden, c.tied ? llama_words(g) : g.matrix(kLlamaHead, c.vocab, c.hidden)};
}

HeadLayer capped_head(ModelGraph& g, ValueId hidden) {
  HeadLayer head = llama_head(g, hidden);
  head.softcap = g.config.real("final_logit_softcapping", 0);
  return head;
}

GgufLayout llama_gguf(const std::string& architecture, const std::string& head_dim_key) {
  GgufLayout g{
      .architecture = architecture,
      .keys = {{"context_length", "max_position_embeddings"},
               {"embedding_length", "hidden_size"},
               {"block_count", "num_hidden_layers"},
               {"attention.head_count", "num_attention_heads"},
               {"vocab_size", "vocab_size"},
               {"feed_forward_length", "intermediate_size"},
               {"attention.head_count_kv", "num_key_value_heads"},
               {"attention.layer_norm_rms_epsilon", "rms_norm_eps", true},
               {"rope.dimension_count", ""},
               {"rope.freq_base", "rope_theta", true}},
      .needed = {"num_hidden_layers", "hidden_size", "intermediate_size", "num_attention_heads"},
      .once = {{"token_embd", "model.embed_tokens"},
               {"output_norm", "model.norm"},
               {"output", "lm_head"}},
      .of_layer = {{"attn_norm", "input_layernorm"},
                   {"attn_q", "self_attn.q_proj"},
                   {"attn_k", "self_attn.k_proj"},
                   {"attn_v", "self_attn.v_proj"},
                   {"attn_output", "self_attn.o_proj"},
                   {"ffn_norm", "post_attention_layernorm"},
                   {"ffn_gate", "mlp.gate_proj"},
                   {"ffn_up", "mlp.up_proj"},
                   {"ffn_down", "mlp.down_proj"}},
      .layers = "model.layers.",
      .rotates = true,
      .unwritable = window_left_out};
  if (head_dim_key.empty()) return g;
  for (GgufKey& key : g.keys)
    if (key.gguf == head_dim_key) {
      key.config = "head_dim";
      return g;
    }
  g.keys.push_back({head_dim_key, "head_dim"});
  return g;
}

void rename_tensors(GgufLayout& g, std::initializer_list<GgufName> names) {
  for (const GgufName& name : names) {
    std::erase_if(g.of_layer, [&](const GgufName& old) { return old.gguf == name.gguf; });
    if (!name.weight.empty()) g.of_layer.push_back(name);
  }
}

void use_layer_norms(GgufLayout& g, const char* eps_key) {
  for (GgufKey& key : g.keys)
    if (key.gguf == "attention.layer_norm_rms_epsilon")
      key = {"attention.layer_norm_epsilon", eps_key, true};
}

std::string window_left_out(const ModelConfig& c) {
  if (c.window == 0 || c.window >= c.max_positions) return "";
  return fmt::format("it has a window of {} tokens, which llama.cpp leaves out", c.window);
}

std::string windows_other_than(const ModelConfig& c, int64_t period) {
  const auto types = c.config.find("layer_types");
  if (types == c.config.end() || !types->is_array()) return "";
  for (size_t i = 0; i < types->size(); ++i) {
    const bool window = (static_cast<int64_t>(i) + 1) % period != 0;
    if ((*types)[i] != (window ? "sliding_attention" : "full_attention"))
      return fmt::format("its layer_types are not a window in each layer but every {}th", period);
  }
  return "";
}

}  // namespace hone
