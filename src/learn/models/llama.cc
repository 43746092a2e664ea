// Llama-class decoders: RMS norm, rotary positions, grouped heads, gated MLP, no position table.
//   llama    Llama 1-3, SmolLM2 (arXiv 2302.13971, 2407.21783)
//   mistral  sliding window (arXiv 2310.06825)
//   qwen2    biases on q, k, v (arXiv 2407.10671)
// Linear weights are [out, in].
#include "learn/models/errors.h"
#include "learn/models/family.h"

namespace hone {
namespace {

using nlohmann::json;

// Transformers 5 keeps rope_theta and rope_type in rope_parameters, 4 in rope_theta and
// rope_scaling.
json rope_parameters(const ModelConfig& c) {
  json rope = json::object();
  rope["rope_theta"] = c.real("rope_theta", 10000.0);
  for (const char* key : {"rope_scaling", "rope_parameters"})
    if (auto it = c.config.find(key); it != c.config.end() && it->is_object()) rope.update(*it);
  if (!rope.contains("rope_type"))
    rope["rope_type"] = rope.contains("type") ? rope["type"] : "default";
  return rope;
}

Status read_rope(const ModelConfig& c) {
  for (const char* key : {"rope_scaling", "rope_parameters"})
    if (auto it = c.config.find(key); it != c.config.end() && !it->is_null() && !it->is_object())
      return Error(err::kBadConfig,
                   fmt::format("config.json: '{}' is {}, an object is expected", key, it->dump()));
  json rope = rope_parameters(c);
  if (!rope["rope_type"].is_string())
    return Error(err::kBadConfig, "config.json: rope_type is not a text");
  std::string type = rope["rope_type"];
  std::vector<const char*> keys{"rope_theta"};
  if (type == "linear")
    keys.push_back("factor");
  else if (type == "llama3")
    keys.insert(keys.end(), {"factor", "low_freq_factor", "high_freq_factor",
                             "original_max_position_embeddings"});
  else if (type != "default")
    return Error(err::kConfigNotOffered,
                 fmt::format("config.json: rope_type '{}' is not supported", type))
        .todo("default, linear and llama3 work");
  for (const char* key : keys)
    if (!rope.contains(key) || !rope[key].is_number() || rope[key].get<double>() <= 0)
      return Error(
          err::kBadConfig,
          fmt::format("config.json: rope_type '{}' needs a positive number '{}'", type, key));
  return Ok{};
}

Status read_config(ModelConfig& c) {
  c.vocab = HONE_TRY(c.integer("vocab_size"));
  c.hidden = HONE_TRY(c.integer("hidden_size"));
  c.layers = HONE_TRY(c.integer("num_hidden_layers"));
  c.heads = HONE_TRY(c.integer("num_attention_heads"));
  c.kv_heads = HONE_TRY(c.integer("num_key_value_heads", c.heads));
  HONE_TRY(c.integer("intermediate_size"));
  const std::string type = c.text("model_type", "llama");
  c.max_positions = HONE_TRY(c.integer("max_position_embeddings", type == "llama"   ? 2048
                                                                  : type == "qwen2" ? 32768
                                                                                    : 4096 * 32));
  c.tied = c.flag("tie_word_embeddings", false);
  if (c.heads < 1) return Error(err::kBadConfig, "config.json: num_attention_heads is 0");
  c.head_dim = HONE_TRY(c.integer("head_dim", c.hidden / c.heads));
  if (c.head_dim % 2 != 0)
    return Error(err::kBadConfig,
                 fmt::format("config.json: the head size {} is odd, rotary positions need pairs",
                             c.head_dim));
  std::string act = c.text("hidden_act", "silu");
  if (act != "silu")
    return Error(err::kConfigNotOffered,
                 fmt::format("config.json: hidden_act '{}' is not supported", act))
        .todo("silu works");
  if (type == "mistral" || (type == "qwen2" && c.flag("use_sliding_window", false)))
    c.window = HONE_TRY(c.integer("sliding_window", 0));
  HONE_TRY(c.integer("max_window_layers", 28));
  return read_rope(c);
}

bool qkv_bias(const ModelConfig& c) {
  return c.flag("attention_bias", c.text("model_type", "llama") == "qwen2");
}
bool output_bias(const ModelConfig& c) {
  return c.text("model_type", "llama") == "llama" && c.flag("attention_bias", false);
}
bool mlp_bias(const ModelConfig& c) { return c.flag("mlp_bias", false); }

// Qwen2's window begins at layer max_window_layers; layer_types, when there, says it by layer.
int64_t window_of(const ModelConfig& c, int64_t layer) {
  if (c.window == 0) return 0;
  if (auto it = c.config.find("layer_types");
      it != c.config.end() && it->is_array() && layer < static_cast<int64_t>(it->size()))
    return (*it)[static_cast<size_t>(layer)] == "sliding_attention" ? c.window : 0;
  if (c.text("model_type", "") == "qwen2")
    return layer >= c.integer("max_window_layers", 28).value() ? c.window : 0;
  return c.window;
}

std::vector<ParamSpec> params(const ModelConfig& c) {
  using Init = ParamSpec::Init;
  const int64_t C = c.hidden, F = c.integer("intermediate_size").value(), Q = c.heads * c.head_dim,
                K = c.kv_heads * c.head_dim;
  const double std = c.real("initializer_range", 0.02);
  std::vector<ParamSpec> list{{"model.embed_tokens.weight", {c.vocab, C}, Init::normal, std}};
  auto linear = [&](const std::string& at, int64_t out, int64_t in, bool bias) {
    list.push_back({at + ".weight", {out, in}, Init::normal, std});
    if (bias) list.push_back({at + ".bias", {out}, Init::zeros, 0, false});
  };
  for (int64_t i = 0; i < c.layers; ++i) {
    const std::string h = fmt::format("model.layers.{}.", i);
    list.push_back({h + "input_layernorm.weight", {C}, Init::ones, 0, false});
    linear(h + "self_attn.q_proj", Q, C, qkv_bias(c));
    linear(h + "self_attn.k_proj", K, C, qkv_bias(c));
    linear(h + "self_attn.v_proj", K, C, qkv_bias(c));
    linear(h + "self_attn.o_proj", C, Q, output_bias(c));
    list.push_back({h + "post_attention_layernorm.weight", {C}, Init::ones, 0, false});
    linear(h + "mlp.gate_proj", F, C, mlp_bias(c));
    linear(h + "mlp.up_proj", F, C, mlp_bias(c));
    linear(h + "mlp.down_proj", C, F, mlp_bias(c));
  }
  list.push_back({"model.norm.weight", {C}, Init::ones, 0, false});
  if (!c.tied) list.push_back({"lm_head.weight", {c.vocab, C}, Init::normal, std});
  return list;
}

// inv_freq[i] = theta^(-2i/D), stretched as rope_type says; f32 as Transformers computes it.
std::vector<ConstantTable> constants(const ModelConfig& c) {
  json rope = rope_parameters(c);
  const float theta = rope["rope_theta"].get<float>();
  ConstantTable t{"rope.inv_freq", {c.head_dim / 2}, {}};
  for (int64_t i = 0; i < c.head_dim / 2; ++i) {
    float f = 1.0f / std::pow(theta, static_cast<float>(2 * i) / static_cast<float>(c.head_dim));
    if (rope["rope_type"] == "linear") f /= rope["factor"].get<float>();
    if (rope["rope_type"] == "llama3") {
      const double factor = rope["factor"], low = rope["low_freq_factor"],
                   high = rope["high_freq_factor"];
      const double original = rope["original_max_position_embeddings"];
      const double wavelength = 2 * M_PI / static_cast<double>(f);
      if (wavelength > original / low) {
        f = static_cast<float>(static_cast<double>(f) / factor);
      } else if (wavelength >= original / high) {
        const double smooth = (original / wavelength - low) / (high - low);
        f = static_cast<float>((1 - smooth) * static_cast<double>(f) / factor +
                               smooth * static_cast<double>(f));
      }
    }
    t.values.push_back(f);
  }
  return {t};
}

ValueId body(ModelGraph& g) {
  Builder& b = g.b;
  const ModelConfig& c = g.config;
  const double eps = c.real("rms_norm_eps", 1e-6);
  const double scale = 1 / std::sqrt(static_cast<double>(c.head_dim));
  auto norm = [&](const std::string& at, ValueId x) {
    return ops::rms_norm(b, x, g.param(at + ".weight"), eps).y;
  };
  auto linear = [&](const std::string& at, ValueId x) {
    return ops::linear(
        b, x, g.param(at + ".weight"),
        {.bias = g.has_param(at + ".bias") ? g.param(at + ".bias") : kNoValue, .trans_w = true});
  };
  auto rotate = [&](ValueId x, int64_t heads) {
    return ops::rope(b, x, g.positions, g.constant("rope.inv_freq"), heads);
  };

  ValueId x;  // [T,C]
  {
    Builder::Scope s(b, "embed");
    x = ops::embedding(b, g.param("model.embed_tokens.weight"), g.ids);
  }
  for (int64_t i = 0; i < c.layers; ++i) {
    const std::string h = fmt::format("model.layers.{}.", i);
    Builder::Scope block(b, fmt::format("layers.{}", i));
    {
      Builder::Scope s(b, "self_attn");
      ValueId y = norm(h + "input_layernorm", x);
      ValueId q = rotate(linear(h + "self_attn.q_proj", y), c.heads);     // [T,H*D]
      ValueId k = rotate(linear(h + "self_attn.k_proj", y), c.kv_heads);  // [T,G*D]
      ValueId v = linear(h + "self_attn.v_proj", y);
      ValueId a =
          g.self_attention(i, q, k, v, scale, c.real("attention_dropout", 0), window_of(c, i));
      x = ops::add(b, linear(h + "self_attn.o_proj", a), x);
    }
    {
      Builder::Scope s(b, "mlp");
      ValueId y = norm(h + "post_attention_layernorm", x);
      // Values are named one by one: the order in which C++ evaluates arguments is not fixed.
      ValueId gate = linear(h + "mlp.gate_proj", y);  // [T,F]
      ValueId value = linear(h + "mlp.up_proj", y);
      ValueId up = ops::gate(b, gate, value, "silu");
      x = ops::add(b, linear(h + "mlp.down_proj", up), x);
    }
  }
  Builder::Scope s(b, "norm");
  return norm("model.norm", x);
}

HeadLayer head(ModelGraph& g, ValueId hidden) {
  return {hidden, g.param(g.config.tied ? "model.embed_tokens.weight" : "lm_head.weight")};
}

// A writer that keeps one of two tied tensors may have kept the head.
std::vector<std::string> other_names(const ModelConfig& c, const std::string& name) {
  if (c.tied && name == "model.embed_tokens.weight") return {"lm_head.weight"};
  return {};
}

}  // namespace

Family family_llama() {
  return {.name = "llama",
          .model_types = {"llama", "mistral", "qwen2"},
          .heads = {{Head::causal_lm, "LlamaForCausalLM"}},
          .read_config = read_config,
          .params = params,
          .constants = constants,
          .body = body,
          .head = head,
          .other_names = other_names};
}

}  // namespace hone
