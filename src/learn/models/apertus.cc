// Apertus (Swiss AI): Llama's blocks with an RMS norm over each head's queries and keys, and an MLP
// of two layers with xIELU, whose slopes are trained (arXiv 2411.13010).
#include "learn/models/llama_blocks.h"

namespace hone {
namespace {

// Defaults of Transformers' config class.
constexpr const char* kUsualApertus =
    R"({"vocab_size": 131072, "hidden_size": 4096, "intermediate_size": 14336,
    "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": null,
    "hidden_act": "xielu", "max_position_embeddings": 65536, "initializer_range": 0.02,
    "rms_norm_eps": 1e-05, "tie_word_embeddings": false, "attention_bias": false,
    "attention_dropout": 0.0, "pad_token_id": 3, "bos_token_id": 1, "eos_token_id": 2,
    "rope_parameters": {"rope_type": "llama3", "rope_theta": 12000000.0, "factor": 8.0,
      "original_max_position_embeddings": 8192, "low_freq_factor": 1.0,
      "high_freq_factor": 4.0}})";

// A number that checkpoints keep beside the slopes; never trained.
ValueId kept_number(ModelGraph& g, const std::string& name, double usual) {
  ParamSpec spec{name, {}, ParamSpec::Init::ones, 0, false};
  spec.ones = usual;
  spec.trained = false;
  return g.weight(std::move(spec));
}

// log(1 + exp(w)) of a trained w [1], whose softplus begins as `first`.
ValueId slope(ModelGraph& g, const std::string& name, double first) {
  Builder& b = g.b;
  ParamSpec spec{name, {1}, ParamSpec::Init::ones, 0};
  spec.ones = std::log(std::expm1(first));
  const ValueId w = ops::reshape(b, g.weight(std::move(spec)), {});
  return ops::log(b, ops::add(b, ops::exp(b, w), ops::constant(b, 1, {DType::f32, {}})));
}

// x > 0: p x^2 + beta x; else n (exp(min(x, eps)) - 1 - x) + beta x, with n = beta + its slope.
ValueId xielu(ModelGraph& g, const std::string& at, ValueId x) {
  Builder& b = g.b;
  const Type type = b.type(x);
  const ValueId p = slope(g, at + "act_fn.alpha_p", 0.8), n0 = slope(g, at + "act_fn.alpha_n", 0.3);
  const ValueId beta = kept_number(g, at + "act_fn.beta", 0.5),
                eps = kept_number(g, at + "act_fn.eps", -1e-6);
  const ValueId n = ops::add(b, n0, beta);
  const ValueId zero = ops::constant(b, 0, type), one = ops::constant(b, 1, {DType::f32, {}});
  const ValueId line = ops::mul(b, x, beta);
  const ValueId above = ops::mul(b, ops::mul(b, x, x), p);
  const ValueId bound = ops::broadcast(b, eps, type.shape, {});
  const ValueId capped = ops::select(b, ops::compare(b, x, bound, "lt"), x, bound);
  const ValueId bent = ops::sub(b, ops::sub(b, ops::exp(b, capped), one), x);
  const ValueId below = ops::mul(b, bent, n);
  return ops::add(b, ops::select(b, ops::compare(b, x, zero, "gt"), above, below), line);
}

LlamaStyle apertus_style(const ModelConfig& c) {
  const bool bias = c.flag("attention_bias", false);
  return {.qkv_bias = bias,
          .output_bias = bias,
          .rotation = {.theta = 12e6},
          .before_rotation = norm_of_heads,
          .attention_norm = "attention_layernorm",
          .mlp_norm = "feedforward_layernorm",
          .gated = false,
          .act = "xielu",
          .activation = xielu};
}

Status read_apertus_config(ModelConfig& c) {
  return read_decoder_config(c, kUsualApertus, apertus_style(c),
                             {"mlp_bias", "post_norm", "qk_norm", "hidden_dropout"});
}

// llama.cpp has the numbers of xIELU in lists of the metadata.
const GgufLayout* gguf_of_apertus() {
  static const GgufLayout layout = [] {
    GgufLayout g = llama_gguf("apertus", "");
    rename_tensors(g, {{"attn_norm", "attention_layernorm"},
                       {"ffn_norm", "feedforward_layernorm"},
                       {"ffn_gate", ""},
                       {"attn_q_norm", "self_attn.q_norm"},
                       {"attn_k_norm", "self_attn.k_norm"}});
    g.lists = {{"xielu.alpha_n", "mlp.act_fn.alpha_n", {1}},
               {"xielu.alpha_p", "mlp.act_fn.alpha_p", {1}},
               {"xielu.beta", "mlp.act_fn.beta"},
               {"xielu.eps", "mlp.act_fn.eps"}};
    g.unwritable = [](const ModelConfig& c) {
      return c.tied ? std::string("its head is tied to the embedding") : window_left_out(c);
    };
    g.finish = [](Json& config, const std::function<bool(const char*)>& has) {
      config["attention_bias"] = has("blk.0.attn_q.bias");
    };
    return g;
  }();
  return &layout;
}

}  // namespace

Family family_apertus() {
  return llama_family<apertus_style>(
      {.name = "apertus",
       .model_types =
           {{"apertus", "Apertus", kUsualApertus, {"q_proj", "v_proj"}, gguf_of_apertus()}},
       .read_config = read_apertus_config,
       .module_order = {{"self_attn", "mlp", "up_proj", "down_proj", "act_fn"}}});
}

}  // namespace hone
