// GPT-2 (Radford et al. 2019): learned positions, pre-norm blocks, fused qkv, tanh GELU.
// Linear weights are Conv1D's [in, out]. Head tied to the token embedding unless the config says
// no.
#include "learn/models/activations.h"
#include "learn/models/errors.h"
#include "learn/models/gguf_layout.h"

namespace hone {
namespace {

// Defaults of Transformers' config class.
constexpr const char* kUsualGpt2 =
    R"({"vocab_size": 50257, "n_positions": 1024, "n_embd": 768, "n_layer": 12, "n_head": 12,
    "n_inner": null, "activation_function": "gelu_new", "resid_pdrop": 0.1, "embd_pdrop": 0.1,
    "attn_pdrop": 0.1, "layer_norm_epsilon": 1e-05, "initializer_range": 0.02,
    "scale_attn_weights": true, "scale_attn_by_inverse_layer_idx": false,
    "tie_word_embeddings": true, "bos_token_id": 50256, "eos_token_id": 50256})";

constexpr const char* kGpt2Activation = "gelu_new";
constexpr const char* kGpt2Head = "lm_head.weight";

Status read_gpt2_config(ModelConfig& c) {
  c.vocab = HONE_TRY(c.integer("vocab_size"));
  c.hidden = HONE_TRY(c.integer("n_embd"));
  c.layers = HONE_TRY(c.integer("n_layer"));
  c.heads = c.kv_heads = HONE_TRY(c.integer("n_head"));
  c.max_positions = HONE_TRY(c.integer("n_positions", HONE_TRY(c.integer("n_ctx", 1024))));
  c.tied = c.flag("tie_word_embeddings", true);
  if (c.heads < 1 || c.hidden % c.heads != 0)
    return Error(
        err::kBadConfig,
        fmt::format("config.json: n_embd {} is not a multiple of n_head {}", c.hidden, c.heads));
  c.head_dim = c.hidden / c.heads;
  HONE_TRY(check_activation(c, "activation_function", kGpt2Activation));
  if (c.flag("add_cross_attention", false))
    return Error(err::kConfigNotOffered, "config.json: add_cross_attention is not supported");
  return Ok{};
}

int64_t inner(const ModelConfig& c) { return c.integer("n_inner", 4 * c.hidden).value(); }

ValueId gpt2_words(ModelGraph& g) {
  // A writer that keeps one of two tied tensors may have kept the head.
  TableOptions o;
  if (g.config.tied) o.also = {kGpt2Head};
  return g.table("transformer.wte.weight", g.config.vocab, g.config.hidden, o);
}

ValueId gpt2_body(ModelGraph& g) {
  Builder& b = g.b;
  const ModelConfig& c = g.config;
  const int64_t C = c.hidden, F = inner(c);
  const double eps = c.real("layer_norm_epsilon", 1e-5);
  const double resid = c.real("resid_pdrop", 0.1), attn = c.real("attn_pdrop", 0.1);
  const std::string act = c.text("activation_function", kGpt2Activation);
  const LinearLayer conv1d{.in_out = true};
  // Projections into the residual stream begin smaller.
  const LinearLayer out{.in_out = true,
                        .std = g.init_std / std::sqrt(2.0 * static_cast<double>(c.layers))};

  ValueId x;  // [T,C], the residual stream
  {
    Builder::Scope s(b, "embed");
    ValueId tokens = g.with_noise(ops::embedding(b, gpt2_words(g), g.ids));
    ValueId places =
        ops::embedding(b, g.table("transformer.wpe.weight", c.max_positions, C), g.positions);
    x = ops::add(b, tokens, places);
    x = g.dropout(x, c.real("embd_pdrop", 0.1));
  }
  for (int64_t i = 0; i < c.layers; ++i) {
    const std::string h = fmt::format("transformer.h.{}.", i);
    Builder::Scope block(b, fmt::format("h.{}", i));
    {
      Builder::Scope s(b, "attn");
      double scale =
          c.flag("scale_attn_weights", true) ? 1 / std::sqrt(static_cast<double>(c.head_dim)) : 1;
      if (c.flag("scale_attn_by_inverse_layer_idx", false)) scale /= static_cast<double>(i + 1);
      ValueId y = g.layer_norm(h + "ln_1", x, eps);
      ValueId qkv = g.linear(h + "attn.c_attn", y, 3 * C, conv1d);            // [T,3C]
      ValueId a = g.self_attention(i, qkv, kNoValue, kNoValue, scale, attn);  // [T,C]
      x = g.dropout(g.linear(h + "attn.c_proj", a, C, out), resid, x);
    }
    {
      Builder::Scope s(b, "mlp");
      ValueId y = g.layer_norm(h + "ln_2", x, eps);
      ValueId up = activate(b, g.linear(h + "mlp.c_fc", y, F, conv1d), act);  // [T,F]
      x = g.dropout(g.linear(h + "mlp.c_proj", up, C, out), resid, x);
    }
  }
  Builder::Scope s(b, "ln_f");
  return g.layer_norm("transformer.ln_f", x, eps);
}

HeadLayer gpt2_head(ModelGraph& g, ValueId hidden) {
  const ModelConfig& c = g.config;
  return {hidden, c.tied ? gpt2_words(g) : g.matrix(kGpt2Head, c.vocab, c.hidden)};
}

void finish_gpt2(Json& config, const std::function<bool(const char*)>&) {
  config["n_positions"] = config["n_ctx"];
  const int64_t width = config.value("feed_forward_length", int64_t{0});
  if (width > 0 && width != 4 * config["n_embd"].get<int64_t>()) config["n_inner"] = width;
}

const GgufLayout* gguf_of_gpt2() {
  static const GgufLayout layout = {
      .architecture = "gpt2",
      .keys = {{"context_length", "n_ctx"},
               {"embedding_length", "n_embd"},
               {"block_count", "n_layer"},
               {"attention.head_count", "n_head"},
               {"feed_forward_length", "feed_forward_length"},
               {"attention.layer_norm_epsilon", "layer_norm_epsilon", true}},
      .needed = {"n_layer", "n_embd", "n_head", "n_ctx"},
      .inner = "n_inner",
      .once = {{"token_embd", "transformer.wte"},
               {"position_embd", "transformer.wpe"},
               {"output_norm", "transformer.ln_f"},
               {"output", "lm_head"}},
      .of_layer = {{"attn_norm", "ln_1"},
                   {"attn_qkv", "attn.c_attn"},
                   {"attn_output", "attn.c_proj"},
                   {"ffn_norm", "ln_2"},
                   {"ffn_up", "mlp.c_fc"},
                   {"ffn_down", "mlp.c_proj"}},
      .layers = "transformer.h.",
      .turned = {".c_attn.weight", ".c_proj.weight", ".c_fc.weight"},
      .finish = finish_gpt2};
  return &layout;
}

}  // namespace

Family family_gpt2() {
  return {.name = "gpt2",
          .model_types = {{"gpt2", "GPT2", kUsualGpt2, {"c_attn"}, gguf_of_gpt2()}},
          .heads = {{Head::causal_lm, "LMHeadModel"}},
          .read_config = read_gpt2_config,
          .body = gpt2_body,
          .head = gpt2_head,
          .dropouts = {"resid_pdrop", "embd_pdrop", "attn_pdrop"},
          // The first GPT-2 checkpoints were saved from the bare model.
          .body_prefix = "transformer.",
          .unread = {".attn.bias", ".attn.masked_bias"},
          .separate_head = kGpt2Head,
          .module_order = std::vector<std::string>()};
}

}  // namespace hone
