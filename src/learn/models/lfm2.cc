// LFM2 (arXiv 2511.23404): Llama's blocks with an RMS norm over each head's queries and keys. Most layers have a
// short convolution between two gates in the place of attention: with B, C, x the thirds of in_proj(y),
//   out_proj(C * filter(B * x)), a filter of a few tokens for each channel.
#include "learn/models/errors.h"
#include "learn/models/llama_blocks.h"

namespace hone {
namespace {

// Defaults of Transformers' config class.
constexpr const char* kUsualLfm2 =
    R"({"vocab_size": 65536, "hidden_size": 2560, "intermediate_size": 12288,
    "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 8,
    "max_position_embeddings": 128000, "initializer_range": 0.02, "norm_eps": 1e-05,
    "tie_word_embeddings": true, "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2,
    "conv_bias": false, "conv_L_cache": 3, "block_multiple_of": 256,
    "block_ffn_dim_multiplier": 1.0, "block_auto_adjust_ff_dim": true,
    "rope_parameters": {"rope_theta": 1000000.0, "rope_type": "default"}})";
constexpr const char* kFiltered = "conv";

int64_t lfm2_inner(const ModelConfig& c) {
  const int64_t given = c.integer("intermediate_size").value();
  if (!c.flag("block_auto_adjust_ff_dim", true)) return given;
  const auto two_thirds = static_cast<int64_t>(2 * static_cast<double>(given) / 3);
  const double factor = c.real("block_ffn_dim_multiplier", 1);
  const auto inner = static_cast<int64_t>(factor * static_cast<double>(two_thirds));
  const int64_t step = c.integer("block_multiple_of", 256).value();
  return (inner + step - 1) / step * step;
}

ValueId lfm2_norm_of_heads(ModelGraph& g, const std::string& at, char which, ValueId x, int64_t) {
  return by_heads(g.b, x, g.config.head_dim, [&](ValueId heads) {
    return g.rms_norm(fmt::format("{}{}_layernorm", at, which), heads,
                      g.config.real("norm_eps", 1e-5));
  });
}

ValueId short_conv(ModelGraph& g, int64_t layer, const std::string& h, ValueId y) {
  Builder& b = g.b;
  const int64_t C = g.config.hidden;
  const bool bias = g.config.flag("conv_bias", false);
  const std::string at = h + "conv.";
  const ValueId all = g.linear(at + "in_proj", y, 3 * C, {.bias = bias});  // [T,3C]
  const ValueId before = ops::slice(b, all, 1, 0, C);
  const ValueId after = ops::slice(b, all, 1, C, 2 * C);
  const ValueId x = ops::mul(b, before, ops::slice(b, all, 1, 2 * C, 3 * C));
  const int64_t taps = g.config.integer("conv_L_cache", 3).value();
  const ValueId filtered = g.causal_conv(layer, at + "conv", x, taps, bias);
  return g.linear(at + "out_proj", ops::mul(b, after, filtered), C, {.bias = bias});
}

LlamaStyle lfm2_style(const ModelConfig& c) {
  LlamaStyle s{.rotation = {.theta = 1e6},
               .before_rotation = lfm2_norm_of_heads,
               .attention_norm = "operator_norm",
               .mlp_norm = "ffn_norm",
               .last_norm = "model.embedding_norm",
               .output = "out_proj",
               .up = "w3",
               .down = "w2",
               .gate = "w1",
               .mlp = "feed_forward.",
               .mixing_type = kFiltered,
               .mix = short_conv};
  if (c.layers > 0) s.inner = lfm2_inner(c);
  return s;
}

// layer_types from full_attn_idxs, the key of the first folders; none: every layer has attention.
Status list_layers(ModelConfig& c) {
  if (names_layers(c)) return Ok{};
  const auto given = c.config.find("full_attn_idxs");
  const nlohmann::json full = given == c.config.end() ? nlohmann::json() : *given;
  HONE_TRY(
      name_layers(c, 32, [&](int64_t) { return full.is_null() ? kFullAttention : kFiltered; }));
  nlohmann::json& types = c.config["layer_types"];
  for (const nlohmann::json& i : full) {
    if (!i.is_number_integer() || i.get<int64_t>() < 0 || i.get<int64_t>() >= std::ssize(types))
      return Error(err::kBadConfig,
                   fmt::format("config.json: full_attn_idxs has {}, which is not a layer of {}",
                               i.dump(), types.size()));
    types[i.get<size_t>()] = kFullAttention;
  }
  return Ok{};
}

// Keys of the first folders that Transformers reads under another name, and those it does not read.
Status read_lfm2_config(ModelConfig& c) {
  for (const auto& [old, now] :
       {std::pair{"block_ff_dim", "intermediate_size"}, {"tie_embedding", "tie_word_embeddings"}})
    if (const auto it = c.config.find(old); it != c.config.end() && !it->is_null())
      c.config[now] = nlohmann::json(*it);
  HONE_TRY(list_layers(c));
  if (!c.config.contains("tie_word_embeddings")) c.config["tie_word_embeddings"] = true;
  HONE_TRY(read_decoder_config(
      c, kUsualLfm2, lfm2_style(c),
      {"full_attn_idxs", "block_ff_dim", "tie_embedding", "block_dim", "conv_dim", "conv_dim_out",
       "num_heads", "block_mlp_init_scale", "block_norm_eps", "block_out_init_scale",
       "block_use_swiglu", "block_use_xavier_init", "conv_use_xavier_init", "use_pos_enc"}));
  HONE_TRY(check_layer_count(c));
  HONE_TRY(check_range("'conv_L_cache'", HONE_TRY(c.integer("conv_L_cache", 3)), 1, 64));
  HONE_TRY(check_range("'block_multiple_of'", HONE_TRY(c.integer("block_multiple_of", 256)), 1,
                       kLargestSize));
  if (const int64_t pad = HONE_TRY(c.integer("pad_token_id", -1)); pad >= 0 && pad < c.vocab)
    c.padding_token = pad;
  return check_range("the size of an MLP", lfm2_inner(c), 1, kLargestSize);
}

void finish_lfm2(Json& config, const std::function<bool(const char*)>& has) {
  config["block_auto_adjust_ff_dim"] = false;  // the file has the adjusted size
  Json types = Json::array();
  for (int64_t i = 0; i < std::min(config.value("num_hidden_layers", int64_t{0}), kMostLayers); ++i)
    types.push_back(has(fmt::format("blk.{}.shortconv.conv.weight", i).c_str()) ? kFiltered
                                                                                : kFullAttention);
  config["layer_types"] = std::move(types);
}

// Heads of keys of each layer; 0: it has a filter.
std::vector<int64_t> keys_of_layers(const ModelConfig& c) {
  std::vector<int64_t> heads;
  for (const nlohmann::json& type : c.config.at("layer_types"))
    heads.push_back(type == kFiltered ? 0 : c.kv_heads);
  return heads;
}

const GgufLayout* gguf_of_lfm2() {
  static const GgufLayout layout = [] {
    GgufLayout g = llama_gguf("lfm2", "");
    for (GgufKey& key : g.keys)
      if (key.gguf == "attention.layer_norm_rms_epsilon") key.config = "norm_eps";
    for (GgufKey& key : g.keys) {
      if (key.gguf == "feed_forward_length")
        key.values = [](const ModelConfig& c) { return std::vector<int64_t>{lfm2_inner(c)}; };
      if (key.gguf == "attention.head_count_kv") key.values = keys_of_layers;
    }
    g.keys.push_back({"shortconv.l_cache", "conv_L_cache"});
    g.once = {{"token_embd", "model.embed_tokens"},
              {"token_embd_norm", "model.embedding_norm"},
              {"output", "lm_head"}};
    rename_tensors(g, {{"attn_norm", "operator_norm"},
                       {"attn_q_norm", "self_attn.q_layernorm"},
                       {"attn_k_norm", "self_attn.k_layernorm"},
                       {"attn_output", "self_attn.out_proj"},
                       {"shortconv.conv", "conv.conv"},
                       {"shortconv.in_proj", "conv.in_proj"},
                       {"shortconv.out_proj", "conv.out_proj"},
                       {"ffn_norm", "ffn_norm"},
                       {"ffn_gate", "feed_forward.w1"},
                       {"ffn_up", "feed_forward.w3"},
                       {"ffn_down", "feed_forward.w2"}});
    g.left_out = {{".conv.conv.weight", 1}};
    g.rotation.theta = 1e6;
    g.finish = finish_lfm2;
    g.unwritable = [](const ModelConfig& c) -> std::string {
      return c.flag("conv_bias", false) ? "its filters have biases" : "";
    };
    return g;
  }();
  return &layout;
}

}  // namespace

Family family_lfm2() {
  return llama_family<lfm2_style>(
      {.name = "lfm2",
       .model_types = {{"lfm2", "Lfm2", kUsualLfm2, {}, gguf_of_lfm2()}},
       .read_config = read_lfm2_config,
       .carries_states = true,
       .module_order = {{"self_attn", "conv", "feed_forward"}}});
}

}  // namespace hone
