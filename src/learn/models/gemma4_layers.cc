#include "learn/models/gemma4_layers.h"

#include <algorithm>

#include "learn/models/gguf_layout.h"
#include "learn/models/llama_blocks.h"

namespace hone {

using nlohmann::json;

bool gemma4_is_full(const ModelConfig& c, int64_t layer) {
  return c.config["layer_types"][static_cast<size_t>(layer)] == kFullAttention;
}

LayerHeads gemma4_full_heads(const ModelConfig& c) {
  LayerHeads heads{.kv_heads = c.kv_heads, .head_dim = c.head_dim};
  if (const auto by_layer = c.config.find("per_layer_config");
      by_layer != c.config.end() && by_layer->is_object()) {
    if (by_layer->empty()) return heads;
    heads.kv_heads = by_layer->front().value("num_key_value_heads", c.kv_heads);
    heads.head_dim = by_layer->front().value("head_dim", c.head_dim);
    return heads;
  }
  heads.head_dim = c.integer("global_head_dim", kGemma4FullHead).value();
  if (c.flag("attention_k_eq_v", false))
    heads.kv_heads = c.integer("num_global_key_value_heads", c.kv_heads).value();
  return heads;
}

RotationStyle gemma4_rotation(const ModelConfig& c) {
  return {.theta = 1e6, .local_theta_key = "", .head_dim = gemma4_full_heads(c).head_dim};
}

int64_t gemma4_first_shared(const ModelConfig& c) {
  return c.layers - c.integer("num_kv_shared_layers", 0).value();
}

int64_t gemma4_keys_of(const ModelConfig& c, int64_t layer) {
  if (layer < gemma4_first_shared(c)) return -1;
  int64_t source = gemma4_first_shared(c) - 1;
  while (source >= 0 && gemma4_is_full(c, source) != gemma4_is_full(c, layer)) --source;
  return source;
}

bool gemma4_is_wide(const ModelConfig& c, int64_t layer) {
  return c.flag("use_double_wide_mlp", false) && gemma4_keys_of(c, layer) >= 0;
}

namespace {

// A number for each layer; one number if all are the same.
template <class F>
std::vector<int64_t> by_layer(const ModelConfig& c, F number) {
  std::vector<int64_t> numbers;
  for (int64_t i = 0; i < c.layers; ++i) numbers.push_back(number(i));
  if (std::ranges::count(numbers, numbers.front()) == c.layers) numbers.resize(1);
  return numbers;
}

// llama.cpp turns a share of the larger heads alone, without a factor, and has the same words in both tables.
std::string unwritable_gemma4(const ModelConfig& c) {
  const RotationStyle style = gemma4_rotation(c);
  const json full = rope_parameters(c, style), local = rope_parameters(c, style, true);
  if (full["rope_type"] != "proportional" || full.value("factor", 1.0) != 1)
    return "the rotation of its full_attention is not proportional";
  if (local["rope_type"] != "default" || local["partial_rotary_factor"] != 1.0)
    return "the rotation of its sliding_attention is not the default";
  if (c.flag("attention_bias", false)) return "its attention_bias is true";
  if (c.integer("hidden_size_per_layer_input", 0).value() > 0 &&
      c.integer("vocab_size_per_layer_input").value() != c.vocab)
    return "its vocab_size_per_layer_input is not vocab_size";
  return "";
}

// The number of the layers of a kind; `otherwise` if there are none. `value` is a number or a list.
int64_t number_of(const json& value, const json& types, const char* type, int64_t otherwise) {
  if (value.is_number_integer()) return value;
  for (size_t i = 0; value.is_array() && i < std::min(value.size(), types.size()); ++i)
    if (types[i] == type && value[i].is_number_integer()) return value[i];
  return otherwise;
}

// Heads of the layers without a window, by the keys that the file's numbers give.
void finish_heads(json& config, const json& types, const std::function<bool(const char*)>& has) {
  const int64_t last_own =
      static_cast<int64_t>(types.size()) - config.value("num_kv_shared_layers", int64_t{0});
  bool has_values = true;
  for (int64_t i = 0; i < last_own; ++i)
    if (types[static_cast<size_t>(i)] == kFullAttention)
      has_values = has_values && has(fmt::format("blk.{}.attn_v.weight", i).c_str());
  config["attention_k_eq_v"] = !has_values;
  const json keys = config.value("num_key_value_heads", json());
  const int64_t all = config.value("num_attention_heads", int64_t{1}),
                local = number_of(keys, types, kSlidingAttention, all),
                full = number_of(keys, types, kFullAttention, local);
  config["num_key_value_heads"] = local;
  config["num_global_key_value_heads"] = full;
  if (full == local || !has_values) return;
  for (size_t i = 0; i < types.size(); ++i)
    if (types[i] == kFullAttention)
      config["per_layer_config"][std::to_string(i)] = {
          {"num_key_value_heads", full},
          {"head_dim", config.value("global_head_dim", kGemma4FullHead)}};
}

void finish_gemma4(Json& config, const std::function<bool(const char*)>& has) {
  json types = json::array();
  const json windows = config.value("layer_types", json());
  for (int64_t i = 0; i < config.value("num_hidden_layers", int64_t{0}); ++i) {
    const auto at = static_cast<size_t>(i);
    const bool given = windows.is_array() && at < windows.size() && windows[at].is_boolean();
    types.push_back((given ? windows[at] == true : (i + 1) % kGemma4Period != 0) ? kSlidingAttention
                                                                                 : kFullAttention);
  }
  config["layer_types"] = types;
  finish_heads(config, types, has);
  const json inner = config.value("intermediate_size", json());
  config["use_double_wide_mlp"] = inner.is_array();
  if (inner.is_array() && !inner.empty()) config["intermediate_size"] = inner.front();
  if (!has("per_layer_token_embd.weight")) config["hidden_size_per_layer_input"] = 0;
  config["vocab_size_per_layer_input"] = config.value("vocab_size", int64_t{0});
  config["enable_moe_block"] = has("blk.0.ffn_gate_inp.weight");
  config["rope_parameters"] = {
      {kFullAttention,
       {{"rope_type", "proportional"}, {"rope_theta", config.value("rope_theta", 1e6)}}},
      {kSlidingAttention,
       {{"rope_type", "default"}, {"rope_theta", config.value("rope_local_base_freq", 1e4)}}}};
  for (const char* key : {"rope_theta", "rope_local_base_freq"}) config.erase(key);
}

// A number of a model with experts; the files of others have none.
std::vector<int64_t> of_experts(const ModelConfig& c, const char* key) {
  if (!c.flag("enable_moe_block", false)) return {};
  return {c.integer(key).value()};
}

GgufKey gemma4_number(const char* gguf, const char* config,
                      std::vector<int64_t> (*values)(const ModelConfig& c)) {
  return {.gguf = gguf, .config = config, .values = values};
}
GgufKey gemma4_theta(const char* gguf, const char* config, double (*real)(const ModelConfig& c)) {
  return {.gguf = gguf, .config = config, .is_real = true, .real = real};
}

// Heads and rotations of both kinds of layers.
std::vector<GgufKey> gemma4_keys_of_heads() {
  const auto full = [](const ModelConfig& c) { return std::vector{gemma4_full_heads(c).head_dim}; };
  const auto local = [](const ModelConfig& c) { return std::vector{c.head_dim}; };
  return {{"attention.head_count", "num_attention_heads"},
          {"rope.dimension_count", ""},
          gemma4_number("rope.dimension_count_swa", "", local),
          gemma4_number("attention.key_length", "global_head_dim", full),
          gemma4_number("attention.value_length", "", full),
          gemma4_number("attention.key_length_swa", "head_dim", local),
          gemma4_number("attention.value_length_swa", "", local),
          gemma4_number(
              "attention.shared_kv_layers", "num_kv_shared_layers",
              [](const ModelConfig& c) { return std::vector{c.layers - gemma4_first_shared(c)}; }),
          gemma4_theta("rope.freq_base", "rope_theta",
                       [](const ModelConfig& c) {
                         return rope_parameters(c, gemma4_rotation(c))["rope_theta"].get<double>();
                       }),
          gemma4_theta("rope.freq_base_swa", "rope_local_base_freq", [](const ModelConfig& c) {
            return rope_parameters(c, gemma4_rotation(c), true)["rope_theta"].get<double>();
          })};
}

// Numbers and flags of each layer.
std::vector<GgufKey> gemma4_keys_of_layers() {
  std::vector<GgufKey> keys = {
      gemma4_number("feed_forward_length", "intermediate_size",
                    [](const ModelConfig& c) {
                      const int64_t inner = c.integer("intermediate_size").value();
                      return by_layer(
                          c, [&](int64_t i) { return inner * (gemma4_is_wide(c, i) ? 2 : 1); });
                    }),
      gemma4_number("attention.head_count_kv", "num_key_value_heads", [](const ModelConfig& c) {
        const int64_t full = gemma4_full_heads(c).kv_heads;
        return by_layer(c, [&](int64_t i) { return gemma4_is_full(c, i) ? full : c.kv_heads; });
      })};
  GgufKey windows{.gguf = "attention.sliding_window_pattern", .config = "layer_types"};
  windows.flags = [](const ModelConfig& c) {
    std::vector<bool> flags;
    for (int64_t i = 0; i < c.layers; ++i) flags.push_back(!gemma4_is_full(c, i));
    return flags;
  };
  keys.push_back(std::move(windows));
  for (GgufKey& key : keys) key.is_list = true;
  return keys;
}

std::vector<GgufKey> gemma4_keys() {
  std::vector<GgufKey> keys = {
      {"context_length", "max_position_embeddings"},
      {"embedding_length", "hidden_size"},
      {"block_count", "num_hidden_layers"},
      {"vocab_size", "vocab_size"},
      {"attention.layer_norm_rms_epsilon", "rms_norm_eps", true},
      {"attention.sliding_window", "sliding_window"},
      {"final_logit_softcapping", "final_logit_softcapping", true},
      gemma4_number("embedding_length_per_layer_input", "hidden_size_per_layer_input",
                    [](const ModelConfig& c) {
                      return std::vector{c.integer("hidden_size_per_layer_input", 0).value()};
                    }),
      gemma4_number("expert_count", "num_experts",
                    [](const ModelConfig& c) { return of_experts(c, "num_experts"); }),
      gemma4_number("expert_used_count", "top_k_experts",
                    [](const ModelConfig& c) { return of_experts(c, "top_k_experts"); }),
      gemma4_number("expert_feed_forward_length", "moe_intermediate_size",
                    [](const ModelConfig& c) { return of_experts(c, "moe_intermediate_size"); })};
  for (const std::vector<GgufKey>& more : {gemma4_keys_of_heads(), gemma4_keys_of_layers()})
    keys.insert(keys.end(), more.begin(), more.end());
  return keys;
}

GgufLayout make_gemma4_gguf() {
  GgufLayout g = llama_gguf("gemma4", "");
  g.sentencepiece = "gemma4";
  g.keys = gemma4_keys();
  g.needed = {"num_hidden_layers", "hidden_size", "num_attention_heads"};
  g.rotates = false;
  g.turns_by_factors = true;
  g.rotation = {.theta = 1e6, .local_theta_key = ""};
  rename_tensors(g, {{"ffn_norm", "pre_feedforward_layernorm"},
                     {"attn_q_norm", "self_attn.q_norm"},
                     {"attn_k_norm", "self_attn.k_norm"},
                     {"post_attention_norm", "post_attention_layernorm"},
                     {"post_ffw_norm", "post_feedforward_layernorm"},
                     {"inp_gate", "per_layer_input_gate"},
                     {"proj", "per_layer_projection"},
                     {"post_norm", "post_per_layer_input_norm"}});
  g.once.insert(g.once.end(), {{"per_layer_token_embd", "model.embed_tokens_per_layer"},
                               {"per_layer_model_proj", "model.per_layer_model_projection"},
                               {"per_layer_proj_norm", "model.per_layer_projection_norm"}});
  g.of_layer.insert(g.of_layer.end(), {{"ffn_gate_inp", "router.proj"},
                                       {"pre_ffw_norm_2", "pre_feedforward_layernorm_2"},
                                       {"post_ffw_norm_1", "post_feedforward_layernorm_1"},
                                       {"post_ffw_norm_2", "post_feedforward_layernorm_2"}});
  g.whole = {{"layer_output_scale.weight", "layer_scalar"},
             {"ffn_gate_inp.scale", "router.scale"},
             {"ffn_gate_up_exps.weight", "experts.gate_up_proj"},
             {"ffn_down_exps.weight", "experts.down_proj"},
             {"ffn_down_exps.scale", "router.per_expert_scale"}};
  g.finish = finish_gemma4;
  g.unwritable = unwritable_gemma4;
  return g;
}

}  // namespace

const GgufLayout* gemma4_gguf() {
  static const GgufLayout layout = make_gemma4_gguf();
  return &layout;
}

}  // namespace hone
