// Qwen3.5's text models, and Qwen3-Next's: Qwen3's blocks with RMS norms times 1 + w, a gate on the output of attention, and heads of
// which a part turns. Three of four layers have Gated DeltaNet (arXiv 2412.06464) in the place of attention.
//   qwen3_5_text
//   qwen3_5_moe_text  experts and a shared one with a gate in the place of MLPs
//   qwen3_next        the same, where layers may have MLPs; the projections of DeltaNet have the rows of one head of
//                     keys after the other
#include "learn/models/activations.h"
#include "learn/models/errors.h"
#include "learn/models/llama_blocks.h"

namespace hone {
namespace {

// Defaults of Transformers' config class.
constexpr const char* kUsualQwen35 =
    R"({"vocab_size": 248320, "hidden_size": 4096, "intermediate_size": 12288,
    "num_hidden_layers": 32, "num_attention_heads": 16, "num_key_value_heads": 4,
    "head_dim": 256, "hidden_act": "silu", "max_position_embeddings": 32768,
    "initializer_range": 0.02, "rms_norm_eps": 1e-06, "tie_word_embeddings": false,
    "attention_bias": false, "attention_dropout": 0.0, "linear_conv_kernel_dim": 4,
    "linear_key_head_dim": 128, "linear_value_head_dim": 128, "linear_num_key_heads": 16,
    "linear_num_value_heads": 32, "pad_token_id": null, "bos_token_id": null,
    "eos_token_id": null, "full_attention_interval": 4,
    "rope_parameters": {"rope_theta": 10000.0, "rope_type": "default",
                        "partial_rotary_factor": 0.25}})";
constexpr const char* kUsualQwen35Moe =
    R"({"vocab_size": 248320, "hidden_size": 2048, "num_hidden_layers": 40,
    "num_attention_heads": 16, "num_key_value_heads": 2, "head_dim": 256, "hidden_act": "silu",
    "max_position_embeddings": 32768, "initializer_range": 0.02, "rms_norm_eps": 1e-06,
    "tie_word_embeddings": false, "attention_bias": false, "attention_dropout": 0.0,
    "linear_conv_kernel_dim": 4, "linear_key_head_dim": 128, "linear_value_head_dim": 128,
    "linear_num_key_heads": 16, "linear_num_value_heads": 32, "moe_intermediate_size": 512,
    "shared_expert_intermediate_size": 512, "num_experts_per_tok": 8, "num_experts": 256,
    "output_router_logits": false, "router_aux_loss_coef": 0.001, "pad_token_id": null,
    "bos_token_id": null, "eos_token_id": null, "full_attention_interval": 4,
    "rope_parameters": {"rope_theta": 10000.0, "rope_type": "default",
                        "partial_rotary_factor": 0.25}})";
constexpr const char* kUsualQwen3Next =
    R"({"vocab_size": 151936, "hidden_size": 2048, "intermediate_size": 5632,
    "num_hidden_layers": 48, "num_attention_heads": 16, "num_key_value_heads": 2,
    "head_dim": 256, "hidden_act": "silu", "max_position_embeddings": 32768,
    "initializer_range": 0.02, "rms_norm_eps": 1e-06, "tie_word_embeddings": false,
    "attention_bias": false, "attention_dropout": 0.0, "linear_conv_kernel_dim": 4,
    "linear_key_head_dim": 128, "linear_value_head_dim": 128, "linear_num_key_heads": 16,
    "linear_num_value_heads": 32, "decoder_sparse_step": 1, "moe_intermediate_size": 512,
    "shared_expert_intermediate_size": 512, "num_experts_per_tok": 10, "num_experts": 512,
    "norm_topk_prob": true, "output_router_logits": false, "router_aux_loss_coef": 0.001,
    "mlp_only_layers": [], "pad_token_id": null, "bos_token_id": null, "eos_token_id": null,
    "full_attention_interval": 4,
    "rope_parameters": {"rope_theta": 10000.0, "rope_type": "default",
                        "partial_rotary_factor": 0.25}})";
constexpr const char* kLinear = "linear_attention";

bool is_next(const ModelConfig& c) { return c.text("model_type", "") == "qwen3_next"; }
bool is_moe(const ModelConfig& c) { return c.text("model_type", "") == "qwen3_5_moe_text"; }
const char* usual_qwen35(const ModelConfig& c) {
  return is_next(c) ? kUsualQwen3Next : is_moe(c) ? kUsualQwen35Moe : kUsualQwen35;
}

// Sizes of a layer with a state: G heads of keys, H heads of values.
struct DeltaNet {
  explicit DeltaNet(const ModelConfig& c)
      : key_heads(c.integer("linear_num_key_heads").value()),
        heads(c.integer("linear_num_value_heads").value()),
        keys(c.integer("linear_key_head_dim").value()),
        values(c.integer("linear_value_head_dim").value()) {}
  int64_t key_row() const { return key_heads * keys; }
  int64_t value_row() const { return heads * values; }
  int64_t key_heads, heads, keys, values;
};

// x / sqrt(sum of x^2 + eps) of each head, times `scale`: an RMS norm whose weights are all the same.
ValueId unit_heads(Builder& b, ValueId x, int64_t heads, double scale) {
  constexpr double kEps = 1e-6;
  const int64_t D = b.type(x).shape[1] / heads;
  const auto size = static_cast<double>(D);
  const ValueId gamma = ops::constant(b, scale / std::sqrt(size), {DType::f32, {D}});
  return by_heads(b, x, D,
                  [&](ValueId rows) { return ops::rms_norm(b, rows, gamma, kEps / size).y; });
}

// log(1 + exp(x))
ValueId softplus(Builder& b, ValueId x) {
  const ValueId zero = ops::constant(b, 0, {DType::f32, {}});
  const ValueId one = ops::constant(b, 1, {DType::f32, {}});
  const ValueId size = ops::maximum(b, x, ops::neg(b, x));
  const ValueId less = ops::log(b, ops::add(b, one, ops::exp(b, ops::neg(b, size))));
  return ops::add(b, ops::maximum(b, x, zero), less);
}

// -exp(A_log) softplus(a + dt_bias), for a [T,H].
ValueId decay_of_heads(ModelGraph& g, const std::string& at, ValueId a) {
  Builder& b = g.b;
  const Shape shape = b.type(a).shape;
  const auto by_head = [&](ValueId v) { return ops::broadcast(b, v, shape, {1}); };
  ParamSpec bias{at + "dt_bias", {shape[1]}, ParamSpec::Init::ones, 0, false};
  constexpr double kLargestRate = 16;  // of new models
  ParamSpec log_rate{at + "A_log", {shape[1]}, ParamSpec::Init::log_uniform, kLargestRate};
  const ValueId dt_bias = g.weight(std::move(bias));
  const ValueId rate = ops::neg(b, ops::exp(b, g.weight(std::move(log_rate))));
  return ops::mul(b, by_head(rate), softplus(b, ops::add(b, a, by_head(dt_bias))));
}

// The projections of a layer with a state: queries, keys and values [T,2K+V], gates z [T,V], b and a [T,H]; z
// kNoValue: it has a projection of its own. Qwen3-Next has, for each head of keys, the rows of its query, key, values and gates.
struct DeltaInputs {
  ValueId mixed = kNoValue, z = kNoValue, b = kNoValue, a = kNoValue;
};
DeltaInputs project(ModelGraph& g, const DeltaNet& d, const std::string& at, ValueId y) {
  Builder& b = g.b;
  const LinearLayer plain{.bias = false};
  const int64_t T = b.type(y).shape[0], K = d.key_row(), V = d.value_row();
  DeltaInputs in;
  if (!is_next(g.config)) {
    in.mixed = g.linear(at + "in_proj_qkv", y, 2 * K + V, plain);
    in.b = g.linear(at + "in_proj_b", y, d.heads, plain);
    in.a = g.linear(at + "in_proj_a", y, d.heads, plain);
    return in;
  }
  const auto parts = [&](const char* name,
                         const std::vector<int64_t>& sizes) {  // of each head of keys
    int64_t width = 0;
    for (const int64_t size : sizes) width += size;
    ValueId all = g.linear(at + name, y, d.key_heads * width, plain);
    all = ops::reshape(b, all, {T, d.key_heads, width});
    std::vector<ValueId> found;
    int64_t from = 0;
    for (const int64_t size : sizes) {
      const ValueId part = ops::slice(b, all, 2, from, from + size);
      found.push_back(ops::reshape(b, part, {T, d.key_heads * size}));
      from += size;
    }
    return found;
  };
  const int64_t each = d.heads / d.key_heads, values = each * d.values;
  const std::vector<ValueId> qkvz = parts("in_proj_qkvz", {d.keys, d.keys, values, values});
  const std::vector<ValueId> ba = parts("in_proj_ba", {each, each});
  in.mixed = ops::concat(b, {qkvz[0], qkvz[1], qkvz[2]}, 1);
  in.z = qkvz[3];
  in.b = ba[0];
  in.a = ba[1];
  return in;
}

ValueId delta_net(ModelGraph& g, int64_t layer, const std::string& h, ValueId y) {
  Builder& b = g.b;
  const DeltaNet d(g.config);
  const std::string at = h + "linear_attn.";
  const LinearLayer plain{.bias = false};
  const int64_t T = b.type(y).shape[0], K = d.key_row(), V = d.value_row();
  const DeltaInputs from = project(g, d, at, y);
  const ValueId beta = sigmoid(b, from.b);
  const ValueId decay = decay_of_heads(g, at, from.a);
  const int64_t taps = g.config.integer("linear_conv_kernel_dim").value();
  const ValueId qkv = ops::silu(b, g.causal_conv(layer, at + "conv1d", from.mixed, taps, false));
  ops::DeltaRuleInputs in{};
  const double scale = 1 / std::sqrt(static_cast<double>(d.keys));
  in.q = unit_heads(b, ops::slice(b, qkv, 1, 0, K), d.key_heads, scale);
  in.k = unit_heads(b, ops::slice(b, qkv, 1, K, 2 * K), d.key_heads, 1);
  in.v = ops::slice(b, qkv, 1, 2 * K, 2 * K + V);
  in.decay = decay;
  in.beta = beta;
  in.cu = g.cu_seqlens;
  const bool cached = g.mode == ModelGraph::Mode::cached;
  if (cached) in.state = g.carried(layer, "delta", d.heads * d.keys * d.values);
  const ops::DeltaRule rule = ops::gated_delta_rule(b, in, d.heads, d.key_heads);
  if (cached) g.carry(layer, "delta", rule.state);
  ValueId out = ops::reshape(b, rule.out, {T * d.heads, d.values});
  out = g.rms_norm(at + "norm", out, g.config.real("rms_norm_eps", 1e-6));
  const ValueId z = from.z != kNoValue ? from.z : g.linear(at + "in_proj_z", y, V, {.bias = false});
  out = ops::gate(b, z, ops::reshape(b, out, {T, V}), "silu");
  return g.linear(at + "out_proj", out, g.config.hidden, plain);
}

ExpertStyle qwen35_experts(const ModelConfig& c) {
  ExpertStyle style;
  if (is_next(c))
    style = {.normalizes = c.flag("norm_topk_prob", true), .is_dense = is_dense_in_qwen};
  const auto shared = c.integer(kSharedInner, 512);
  style.shared_inner = shared.ok() ? *shared : 0;
  return style;
}

LlamaStyle qwen35_style(const ModelConfig& c) {
  const bool bias = c.flag("attention_bias", false);
  LlamaStyle s{.qkv_bias = bias,
               .output_bias = bias,
               .rotation = {.share = 0.25},
               .before_rotation = norm_of_heads_from_one,
               .norm = rms_norm_from_one,
               .gated_attention = true,
               .mixing_type = kLinear,
               .mix = delta_net,
               .only_experts = is_moe(c)};
  if (is_next(c) || is_moe(c)) s.experts = qwen35_experts(c);
  return s;
}

Status list_layers_of_qwen35(ModelConfig& c) {
  if (names_layers(c)) return Ok{};
  const int64_t period = HONE_TRY(c.integer("full_attention_interval", 4));
  HONE_TRY(check_range("'full_attention_interval'", period, 1, kMostLayers));
  return name_layers(c, 32,
                     [&](int64_t i) { return (i + 1) % period == 0 ? kFullAttention : kLinear; });
}

Status read_qwen35_config(ModelConfig& c) {
  HONE_TRY(list_layers_of_qwen35(c));
  if (!c.flag("attn_output_gate", true))
    return Error(err::kConfigNotOffered, "config.json: attn_output_gate = false is not supported");
  if (const auto it = c.config.find("mlp_only_layers");
      !is_next(c) && it != c.config.end() && !it->is_null() && !it->empty())
    return Error(err::kConfigNotOffered, "config.json: mlp_only_layers is not supported");
  // Notes on how states are kept, and on the layers that predict further tokens, which Transformers does not
  // read either.
  HONE_TRY(read_decoder_config(c, usual_qwen35(c), qwen35_style(c),
                               {"attn_output_gate", "mlp_only_layers", "mamba_ssm_dtype",
                                "mtp_num_hidden_layers", "mtp_use_dedicated_embeddings"}));
  HONE_TRY(check_layer_count(c));
  if (is_next(c)) HONE_TRY(c.integer("decoder_sparse_step", 1));
  if (qwen35_style(c).experts) HONE_TRY(check_shared_expert(c));
  for (const char* key : {"linear_key_head_dim", "linear_value_head_dim", "linear_num_key_heads",
                          "linear_num_value_heads"})
    HONE_TRY(check_range(fmt::format("'{}'", key), HONE_TRY(c.integer(key)), 1, kLargestSize));
  HONE_TRY(check_range("'linear_conv_kernel_dim'", HONE_TRY(c.integer("linear_conv_kernel_dim")), 1,
                       64));
  const DeltaNet d(c);
  if (d.heads % d.key_heads != 0)
    return Error(err::kBadConfig,
                 fmt::format("config.json: {} heads of values cannot share {} heads of keys",
                             d.heads, d.key_heads));
  if (const int64_t pad = HONE_TRY(c.integer("pad_token_id", -1)); pad >= 0 && pad < c.vocab)
    c.padding_token = pad;
  return Ok{};
}

// Layers without a state are every n-th; 0: they are not.
int64_t attention_interval(const ModelConfig& c) {
  const nlohmann::json& types = c.config.at("layer_types");
  int64_t interval = 0;
  while (interval < std::ssize(types) && types[static_cast<size_t>(interval)] == kLinear)
    ++interval;
  ++interval;
  for (int64_t i = 0; i < std::ssize(types); ++i)
    if ((types[static_cast<size_t>(i)] == kLinear) != ((i + 1) % interval != 0)) return 0;
  return interval;
}

std::string unwritable_qwen35(const ModelConfig& c) {
  if (c.flag("attention_bias", false)) return "its attention has biases";
  const DeltaNet d(c);
  if (d.keys != d.values) return "its heads of keys and of values differ in size";
  return attention_interval(c) > 0 ? "" : "its layer_types do not repeat";
}

std::vector<int64_t> sections_of(const ModelConfig& c) {
  const auto turned = static_cast<int64_t>(
      static_cast<double>(c.head_dim) *
      rope_parameters(c, {.share = 0.25})["partial_rotary_factor"].get<double>());
  const int64_t third = turned / 6;  // all positions of a text are the same
  return {turned / 2 - 2 * third, third, third, 0};
}

GgufLayout qwen35_layout(const char* architecture) {
  GgufLayout g = llama_gguf(architecture, kGgufHeadSize);
  g.keys.push_back({"attention.value_length", ""});
  g.keys.push_back({"rope.dimension_sections", "", false, sections_of});
  g.keys.push_back({"full_attention_interval", "full_attention_interval", false,
                    [](const ModelConfig& c) { return std::vector{attention_interval(c)}; }});
  g.keys.push_back({"ssm.conv_kernel", "linear_conv_kernel_dim"});
  g.keys.push_back({"ssm.state_size", "linear_key_head_dim"});
  g.keys.push_back({"ssm.group_count", "linear_num_key_heads"});
  g.keys.push_back({"ssm.time_step_rank", "linear_num_value_heads"});
  g.keys.push_back({"ssm.inner_size", "", false,
                    [](const ModelConfig& c) { return std::vector{DeltaNet(c).value_row()}; }});
  rename_tensors(g, {{"ffn_norm", ""},
                     {"post_attention_norm", "post_attention_layernorm"},
                     {"attn_q_norm", "self_attn.q_norm"},
                     {"attn_k_norm", "self_attn.k_norm"},
                     {"attn_qkv", "linear_attn.in_proj_qkv"},
                     {"attn_gate", "linear_attn.in_proj_z"},
                     {"ssm_beta", "linear_attn.in_proj_b"},
                     {"ssm_alpha", "linear_attn.in_proj_a"},
                     {"ssm_conv1d", "linear_attn.conv1d"},
                     {"ssm_norm", "linear_attn.norm"},
                     {"ssm_out", "linear_attn.out_proj"}});
  g.parts = {{"ssm_a", "linear_attn.A_log"}, {"ssm_dt.bias", "linear_attn.dt_bias"}};
  using Where = GgufTiles::Where;
  g.tiles = {{".in_proj_qkv.weight", Where::rows_of_value},
             {".conv1d.weight", Where::rows_of_value},
             {".in_proj_z.weight"},
             {".in_proj_b.weight"},
             {".in_proj_a.weight"},
             {".A_log"},
             {".dt_bias"},
             {".out_proj.weight", Where::columns}};
  g.rates = {".A_log"};
  g.left_out = {{".conv1d.weight", 1}};
  g.plus_one = {"layernorm.weight", "_norm.weight", "model.norm.weight"};
  g.turns_part = true;
  g.unwritable = unwritable_qwen35;
  g.finish = [](Json& config, const std::function<bool(const char*)>&) {
    config["linear_value_head_dim"] = config.value("linear_key_head_dim", int64_t{0});
  };
  return g;
}

const GgufLayout* gguf_of_qwen35() {
  static const GgufLayout layout = qwen35_layout("qwen35");
  return &layout;
}

const GgufLayout* gguf_of_qwen35_moe() {
  static const GgufLayout layout = [] {
    GgufLayout g = qwen35_layout("qwen35moe");
    std::erase_if(g.keys, [](const GgufKey& key) { return key.gguf == "feed_forward_length"; });
    g.needed = {"num_hidden_layers", "hidden_size", "num_attention_heads"};
    add_experts(g, {});
    add_shared_expert(g, {});
    return g;
  }();
  return &layout;
}

std::string unwritable_qwen3_next(const ModelConfig& c) {
  const ExpertStyle style = qwen35_experts(c);
  if (!style.normalizes) return "its norm_topk_prob is false";
  for (int64_t i = 0; i < c.layers; ++i)
    if (is_dense_in_qwen(c, i)) return fmt::format("its layer {} has no experts", i);
  return unwritable_qwen35(c);
}

const GgufLayout* gguf_of_qwen3_next() {
  static const GgufLayout layout = [] {
    GgufLayout g = qwen35_layout("qwen3next");
    std::erase_if(g.keys, [](const GgufKey& key) { return key.gguf == "rope.dimension_sections"; });
    rename_tensors(g, {{"attn_qkv", ""},
                       {"attn_gate", ""},
                       {"ssm_beta", ""},
                       {"ssm_alpha", ""},
                       {"ssm_ba", "linear_attn.in_proj_ba"}});
    g.tiles = {};
    g.state_rows = {{"linear_attn.in_proj_qkvz.weight", "attn_qkv.weight", "attn_gate.weight"}};
    add_experts(g, {});
    add_shared_expert(g, {});
    g.unwritable = unwritable_qwen3_next;
    return g;
  }();
  return &layout;
}

}  // namespace

Family family_qwen3_5() {
  return llama_family<qwen35_style>(
      {.name = "qwen3_5",
       .model_types =
           {{"qwen3_5_text", "Qwen3_5", kUsualQwen35, {}, gguf_of_qwen35()},
            {"qwen3_5_moe_text", "Qwen3_5Moe", kUsualQwen35Moe, {}, gguf_of_qwen35_moe()},
            {"qwen3_next", "Qwen3Next", kUsualQwen3Next, {}, gguf_of_qwen3_next()}},
       .read_config = read_qwen35_config,
       .carries_states = true,
       .module_order = {{"linear_attn", "self_attn", "mlp", "conv1d", "out_proj", "in_proj_qkv",
                         "in_proj_z", "in_proj_b", "in_proj_a"}}});
}

}  // namespace hone
