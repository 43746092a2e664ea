// BLOOM and the first Falcons: layer norms with biases, one projection for queries, keys and values.
//   bloom   ALiBi, a norm of the embeddings (arXiv 2211.05100)
//   falcon  attention and MLP side by side, few keys for many queries, rotary positions or ALiBi
//           (arXiv 2311.16867)
#include "learn/models/activations.h"
#include "learn/models/config_keys.h"
#include "learn/models/errors.h"
#include "learn/models/gguf_layout.h"
#include "learn/models/query_key_value.h"
#include "learn/models/rotation.h"

namespace hone {
namespace {

// Defaults of Transformers' config classes.
constexpr const char* kUsualBloom =
    R"({"vocab_size": 250880, "hidden_size": 64, "n_layer": 2, "n_head": 8,
    "layer_norm_epsilon": 1e-05, "initializer_range": 0.02, "tie_word_embeddings": true,
    "apply_residual_connection_post_layernorm": false, "hidden_dropout": 0.0,
    "attention_dropout": 0.0, "slow_but_exact": false, "pad_token_id": null, "bos_token_id": 1,
    "eos_token_id": 2})";
constexpr const char* kUsualFalcon =
    R"({"vocab_size": 65024, "hidden_size": 4544, "num_hidden_layers": 32,
    "num_attention_heads": 71, "num_ln_in_parallel_attn": null, "layer_norm_epsilon": 1e-05,
    "initializer_range": 0.02, "hidden_dropout": 0.0, "attention_dropout": 0.0,
    "num_kv_heads": null, "alibi": false, "new_decoder_architecture": false,
    "multi_query": true, "parallel_attn": true, "bias": false, "max_position_embeddings": 2048,
    "ffn_hidden_size": null, "activation": "gelu", "tie_word_embeddings": true,
    "pad_token_id": null, "bos_token_id": 11, "eos_token_id": 11,
    "rope_parameters": {"rope_theta": 10000.0, "rope_type": "default"}})";

constexpr const char* kBloomHead = "lm_head.weight";

bool is_falcon(const ModelConfig& c) { return c.text("model_type", "") == "falcon"; }

// Older names of keys, from Transformers' attribute_map.
void rename_keys(ModelConfig& c, const std::map<std::string, const char*>& names) {
  for (const auto& [old, name] : names) {
    if (c.config.contains(old) && !c.config.contains(name)) c.config[name] = c.config[old];
    c.config.erase(old);
  }
}

Status read_falcon_config(ModelConfig& c) {
  rename_keys(c, {{"n_embed", "hidden_size"},
                  {"n_layer", "num_hidden_layers"},
                  {"n_head", "num_attention_heads"},
                  {"n_head_kv", "num_kv_heads"}});
  const nlohmann::json usual = HONE_TRY(parse_json(kUsualFalcon, "usual"));
  HONE_TRY(accept_keys(c, usual,
                       {"rope_theta", "rope_scaling", "apply_residual_connection_post_layernorm"}));
  add_missing_keys(c, usual, {"rope_theta", "rope_scaling", "rope_parameters"});
  c.layers = HONE_TRY(c.integer("num_hidden_layers"));
  c.heads = HONE_TRY(c.integer("num_attention_heads"));
  c.kv_heads = HONE_TRY(c.integer("num_kv_heads", c.heads));
  if (!c.flag("new_decoder_architecture", false))
    c.kv_heads = c.flag("multi_query", true) ? 1 : c.heads;
  c.max_positions = HONE_TRY(c.integer("max_position_embeddings"));
  return check_activation(c, "activation", "gelu");
}

Status read_only_bloom_config(ModelConfig& c) {
  rename_keys(c, {{"n_embed", "hidden_size"},
                  {"num_hidden_layers", "n_layer"},
                  {"num_attention_heads", "n_head"}});
  const nlohmann::json usual = HONE_TRY(parse_json(kUsualBloom, "usual"));
  HONE_TRY(accept_keys(
      c, usual,
      {"seq_length", "attention_softmax_in_fp32", "bias_dropout_fusion", "masked_softmax_fusion",
       "offset_alibi", "skip_bias_add", "skip_bias_add_qkv", "unk_token_id"}));
  add_missing_keys(c, usual, {});
  if (c.flag("apply_residual_connection_post_layernorm", false))
    return Error(err::kConfigNotOffered,
                 "config.json: apply_residual_connection_post_layernorm is not supported");
  c.layers = HONE_TRY(c.integer("n_layer"));
  c.heads = c.kv_heads = HONE_TRY(c.integer("n_head"));
  c.max_positions = HONE_TRY(c.integer("seq_length", 2048));  // ALiBi has no last position
  return Ok{};
}

Status read_bloom_config(ModelConfig& c) {
  HONE_TRY(is_falcon(c) ? read_falcon_config(c) : read_only_bloom_config(c));
  c.vocab = HONE_TRY(c.integer("vocab_size"));
  c.hidden = HONE_TRY(c.integer("hidden_size"));
  c.tied = c.flag("tie_word_embeddings", true);
  if (c.heads < 1 || c.hidden % c.heads != 0)
    return Error(err::kBadConfig,
                 fmt::format("config.json: {} heads cannot share {} channels", c.heads, c.hidden));
  c.head_dim = c.hidden / c.heads;
  return is_falcon(c) && !c.flag("alibi", false) ? check_rotation(c, {}) : Status(Ok{});
}

struct BloomStyle {
  bool alibi, bias, parallel, two_norms;
  int64_t inner;
  std::string act;
};

BloomStyle bloom_style(const ModelConfig& c) {
  if (!is_falcon(c)) return {true, true, false, false, 4 * c.hidden, "gelu_new"};
  const bool later = c.flag("new_decoder_architecture", false);
  const bool parallel = later || c.flag("parallel_attn", true);
  return {c.flag("alibi", false),
          c.flag("bias", false),
          parallel,
          parallel && c.integer("num_ln_in_parallel_attn", later ? 2 : 1).value() == 2,
          c.integer("ffn_hidden_size", 4 * c.hidden).value(),
          c.text("activation", "gelu")};
}

ValueId bloom_words(ModelGraph& g) {
  TableOptions o;
  if (g.config.tied) o.also = {kBloomHead};
  return g.table("transformer.word_embeddings.weight", g.config.vocab, g.config.hidden, o);
}

ValueId bloom_body(ModelGraph& g) {
  Builder& b = g.b;
  const ModelConfig& c = g.config;
  const BloomStyle style = bloom_style(c);
  const int64_t C = c.hidden;
  const double eps = c.real("layer_norm_epsilon", 1e-5), drop = c.real("hidden_dropout", 0);
  const double scale = 1 / std::sqrt(static_cast<double>(c.head_dim));
  const LinearLayer linear{.bias = style.bias};
  std::optional<Rotation> rotation;
  ValueId bias = kNoValue;
  if (style.alibi)
    bias = alibi_bias(g, is_falcon(c) ? scale : 1);  // Falcon scales it with the scores
  else
    rotation.emplace(g, RotationStyle{});
  ValueId x;  // [T,C], the residual stream
  {
    Builder::Scope s(b, "embed");
    x = g.with_noise(ops::embedding(b, bloom_words(g), g.ids));
    if (!is_falcon(c)) x = g.layer_norm("transformer.word_embeddings_layernorm", x, eps);
  }
  for (int64_t i = 0; i < c.layers; ++i) {
    const std::string h = fmt::format("transformer.h.{}.", i);
    Builder::Scope block(b, fmt::format("h.{}", i));
    const ValueId in = x;
    ValueId y;
    {
      Builder::Scope s(b, "self_attention");
      y = g.layer_norm(h + (style.two_norms ? "ln_attn" : "input_layernorm"), x, eps);
      QueriesKeysValues parts =
          split_by_group(g, g.linear(h + "self_attention.query_key_value", y,
                                     C + 2 * c.kv_heads * c.head_dim, linear));
      if (rotation) {
        parts.q = rotation->turn(parts.q, c.heads);
        parts.k = rotation->turn(parts.k, c.kv_heads);
      }
      ValueId a = g.self_attention(i, parts.q, parts.k, parts.v, scale,
                                   c.real("attention_dropout", 0), 0, true, bias);
      x = g.dropout(g.linear(h + "self_attention.dense", a, C, linear), drop, x);
    }
    Builder::Scope s(b, "mlp");
    if (style.two_norms)  // a GGUF file has one name for this norm and that of models with one
      y = g.layer_norm(h + "ln_mlp", in, eps,
                       {{h + "input_layernorm.weight"}, {h + "input_layernorm.bias"}});
    else if (!style.parallel)
      y = g.layer_norm(h + "post_attention_layernorm", x, eps);
    ValueId up = activate(b, g.linear(h + "mlp.dense_h_to_4h", y, style.inner, linear), style.act);
    x = g.dropout(g.linear(h + "mlp.dense_4h_to_h", up, C, linear), drop, x);
  }
  Builder::Scope s(b, "ln_f");
  return g.layer_norm("transformer.ln_f", x, eps);
}

HeadLayer bloom_head(ModelGraph& g, ValueId hidden) {
  const ModelConfig& c = g.config;
  return {hidden, c.tied ? bloom_words(g) : g.matrix(kBloomHead, c.vocab, c.hidden)};
}

GgufLayout bloom_layout(const char* architecture) {
  return {.architecture = architecture,
          .once = {{"token_embd", "transformer.word_embeddings"},
                   {"token_embd_norm", "transformer.word_embeddings_layernorm"},
                   {"output_norm", "transformer.ln_f"},
                   {"output", "lm_head"}},
          .of_layer = {{"attn_norm", "input_layernorm"},
                       {"attn_qkv", "self_attention.query_key_value"},
                       {"attn_output", "self_attention.dense"},
                       {"ffn_norm", "post_attention_layernorm"},
                       {"ffn_up", "mlp.dense_h_to_4h"},
                       {"ffn_down", "mlp.dense_4h_to_h"}},
          .layers = "transformer.h.",
          .by_group = {".query_key_value.weight", ".query_key_value.bias"}};
}

const GgufLayout* gguf_of_bloom() {
  static const GgufLayout layout = [] {
    GgufLayout g = bloom_layout("bloom");
    g.keys = {{"context_length", "seq_length"},
              {"embedding_length", "hidden_size"},
              {"block_count", "n_layer"},
              {"attention.head_count", "n_head"},
              {"attention.head_count_kv", ""},
              {"vocab_size", "vocab_size"},
              {"feed_forward_length", ""},
              {"attention.layer_norm_epsilon", "layer_norm_epsilon", true}};
    g.needed = {"n_layer", "hidden_size", "n_head"};
    return g;
  }();
  return &layout;
}

// llama.cpp has the Falcons of tiiuae/falcon-7b, 40b and 11B.
std::string unwritable_falcon(const ModelConfig& c) {
  const BloomStyle style = bloom_style(c);
  if (style.alibi) return "it has alibi";
  if (style.bias) return "its layers have biases";
  return style.parallel ? "" : "its MLPs come after attention";
}

void finish_falcon(Json& config, const std::function<bool(const char*)>& has) {
  const int64_t heads = config.value("num_attention_heads", int64_t{1}),
                keys = config.value("num_kv_heads", heads);
  const bool two_norms = has("blk.0.attn_norm_2.weight");
  const bool later = two_norms || (keys != 1 && keys != heads);
  config["new_decoder_architecture"] = later;
  config["multi_query"] = keys == 1;
  if (later) config["num_ln_in_parallel_attn"] = two_norms ? 2 : 1;
}

const GgufLayout* gguf_of_falcon() {
  static const GgufLayout layout = [] {
    GgufLayout g = bloom_layout("falcon");
    g.keys = {{"context_length", "max_position_embeddings"},
              {"embedding_length", "hidden_size"},
              {"block_count", "num_hidden_layers"},
              {"attention.head_count", "num_attention_heads"},
              {"attention.head_count_kv", "num_kv_heads"},
              {"vocab_size", "vocab_size"},
              {"feed_forward_length", "ffn_hidden_size"},
              {"attention.layer_norm_epsilon", "layer_norm_epsilon", true},
              {"rope.dimension_count", ""},
              {"rope.freq_base", "rope_theta", true}};
    g.needed = {"num_hidden_layers", "hidden_size", "num_attention_heads"};
    g.inner = "ffn_hidden_size";
    g.of_layer.push_back({"attn_norm_2", "ln_attn"});
    g.of_layer.push_back({"attn_norm", "ln_mlp"});  // read as input_layernorm
    g.rotates = true;
    g.unwritable = unwritable_falcon;
    g.finish = finish_falcon;
    return g;
  }();
  return &layout;
}

}  // namespace

Family family_bloom() {
  return {
      .name = "bloom",
      .model_types = {{"bloom", "Bloom", kUsualBloom, {"query_key_value"}, gguf_of_bloom()},
                      {"falcon", "Falcon", kUsualFalcon, {"query_key_value"}, gguf_of_falcon()}},
      .heads = {{Head::causal_lm, "ForCausalLM"}},
      .read_config = read_bloom_config,
      .body = bloom_body,
      .head = bloom_head,
      .dropouts = {"attention_dropout", "hidden_dropout"},
      .body_prefix = "transformer.",
      .unread = {".rotary_emb.inv_freq"},
      .separate_head = kBloomHead,
      // BLOOM's layers make their norms in turn, Falcon's after the rest.
      .module_order = {{"input_layernorm", "self_attention", "post_attention_layernorm", "mlp"}}};
}

}  // namespace hone
