#include "learn/models/llama_blocks.h"

#include "learn/models/errors.h"

namespace hone {
namespace {

using nlohmann::json;

constexpr const char* kLlamaHead = "lm_head.weight";

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

int64_t window_of(const ModelConfig& c, const LlamaStyle& style, int64_t layer) {
  if (c.window == 0) return 0;
  if (auto it = c.config.find("layer_types");
      it != c.config.end() && it->is_array() && layer < static_cast<int64_t>(it->size()))
    return (*it)[static_cast<size_t>(layer)] == "sliding_attention" ? c.window : 0;
  return layer >= style.first_window_layer ? c.window : 0;
}

// inv_freq[i] = theta^(-2i/D), scaled by rope_type; f32 as Transformers computes it.
std::vector<float> inv_freq(const ModelConfig& c) {
  json rope = rope_parameters(c);
  const float theta = rope["rope_theta"].get<float>();
  std::vector<float> table;
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
    table.push_back(f);
  }
  return table;
}

ValueId llama_words(ModelGraph& g) {
  // A writer that keeps one of two tied tensors may have kept the head.
  TableOptions o;
  if (g.config.tied) o.also = {kLlamaHead};
  return g.table("model.embed_tokens.weight", g.config.vocab, g.config.hidden, o);
}

}  // namespace

Status read_llama_config(ModelConfig& c, int64_t positions, int64_t head_dim) {
  c.vocab = HONE_TRY(c.integer("vocab_size"));
  c.hidden = HONE_TRY(c.integer("hidden_size"));
  c.layers = HONE_TRY(c.integer("num_hidden_layers"));
  c.heads = HONE_TRY(c.integer("num_attention_heads"));
  c.kv_heads = HONE_TRY(c.integer("num_key_value_heads", c.heads));
  HONE_TRY(c.integer("intermediate_size"));
  c.max_positions = HONE_TRY(c.integer("max_position_embeddings", positions));
  c.tied = c.flag("tie_word_embeddings", false);
  if (c.heads < 1) return Error(err::kBadConfig, "config.json: num_attention_heads is 0");
  c.head_dim = HONE_TRY(c.integer("head_dim", head_dim > 0 ? head_dim : c.hidden / c.heads));
  if (c.head_dim % 2 != 0)
    return Error(err::kBadConfig,
                 fmt::format("config.json: the head size {} is odd, rotary positions need pairs",
                             c.head_dim));
  std::string act = c.text("hidden_act", "silu");
  if (act != "silu")
    return Error(err::kConfigNotOffered,
                 fmt::format("config.json: hidden_act '{}' is not supported", act))
        .todo("silu works");
  HONE_TRY(c.integer("max_window_layers", 28));
  return read_rope(c);
}

int64_t qwen_window_layer(const ModelConfig& c) {
  return c.integer("max_window_layers", 28).value();
}

ValueId llama_body(ModelGraph& g, const LlamaStyle& style) {
  Builder& b = g.b;
  const ModelConfig& c = g.config;
  const int64_t C = c.hidden, F = c.integer("intermediate_size").value(),
                K = c.kv_heads * c.head_dim;
  const double eps = c.real("rms_norm_eps", 1e-6);
  const double scale = 1 / std::sqrt(static_cast<double>(c.head_dim));
  const LinearLayer qkv{.bias = style.qkv_bias}, output{.bias = style.output_bias},
      mlp{.bias = style.mlp_bias};
  const ValueId frequencies =
      g.constant({"rope.inv_freq", {c.head_dim / 2}, [&c] { return inv_freq(c); }});

  ValueId x;  // [T,C]
  {
    Builder::Scope s(b, "embed");
    x = ops::embedding(b, llama_words(g), g.ids);
  }
  for (int64_t i = 0; i < c.layers; ++i) {
    const std::string h = fmt::format("model.layers.{}.", i);
    Builder::Scope block(b, fmt::format("layers.{}", i));
    {
      Builder::Scope s(b, "self_attn");
      ValueId y = g.rms_norm(h + "input_layernorm", x, eps);
      auto rotated = [&](char which, int64_t heads) {  // [T,heads*D]
        ValueId q =
            g.linear(fmt::format("{}self_attn.{}_proj", h, which), y, heads * c.head_dim, qkv);
        if (style.before_rotation) q = style.before_rotation(g, h + "self_attn.", which, q, heads);
        return ops::rope(b, q, g.positions, frequencies, heads);
      };
      ValueId q = rotated('q', c.heads);
      ValueId k = rotated('k', c.kv_heads);
      ValueId v = g.linear(h + "self_attn.v_proj", y, K, qkv);
      ValueId a = g.self_attention(i, q, k, v, scale, c.real("attention_dropout", 0),
                                   window_of(c, style, i));
      x = ops::add(b, g.linear(h + "self_attn.o_proj", a, C, output), x);
    }
    {
      Builder::Scope s(b, "mlp");
      ValueId y = g.rms_norm(h + "post_attention_layernorm", x, eps);
      // Values are named one by one: the order in which C++ evaluates arguments is not fixed.
      ValueId gate = g.linear(h + "mlp.gate_proj", y, F, mlp);  // [T,F]
      ValueId value = g.linear(h + "mlp.up_proj", y, F, mlp);
      ValueId up = ops::gate(b, gate, value, "silu");
      x = ops::add(b, g.linear(h + "mlp.down_proj", up, C, mlp), x);
    }
  }
  Builder::Scope s(b, "norm");
  return g.rms_norm("model.norm", x, eps);
}

HeadLayer llama_head(ModelGraph& g, ValueId hidden) {
  const ModelConfig& c = g.config;
  return {hidden, c.tied ? llama_words(g) : g.matrix(kLlamaHead, c.vocab, c.hidden)};
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
      .rotates = true};
  if (head_dim_key.empty()) return g;
  for (GgufKey& key : g.keys)
    if (key.gguf == head_dim_key) {
      key.config = "head_dim";
      return g;
    }
  g.keys.push_back({head_dim_key, "head_dim"});
  return g;
}

}  // namespace hone
