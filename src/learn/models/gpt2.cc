// GPT-2 (Radford et al. 2019): learned positions, pre-norm blocks, fused qkv, tanh GELU.
// Linear weights are Conv1D's [in, out]. Head tied to the token embedding unless the config says
// no.
#include "learn/models/activations.h"
#include "learn/models/errors.h"
#include "learn/models/family.h"

namespace hone {
namespace {

constexpr const char* kActivation = "gelu_new";

Status read_config(ModelConfig& c) {
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
  HONE_TRY(check_activation(c, "activation_function", kActivation));
  if (c.flag("add_cross_attention", false))
    return Error(err::kConfigNotOffered, "config.json: add_cross_attention is not supported");
  return Ok{};
}

int64_t inner(const ModelConfig& c) { return c.integer("n_inner", 4 * c.hidden).value(); }

std::vector<ParamSpec> params(const ModelConfig& c) {
  using Init = ParamSpec::Init;
  const int64_t C = c.hidden, F = inner(c);
  const double std = c.real("initializer_range", 0.02);
  const double std_out =
      std / std::sqrt(2.0 * static_cast<double>(c.layers));  // projections into the residual stream
  std::vector<ParamSpec> list{{"transformer.wte.weight", {c.vocab, C}, Init::normal, std},
                              {"transformer.wpe.weight", {c.max_positions, C}, Init::normal, std}};
  auto norm = [&](const std::string& at) {
    list.push_back({at + ".weight", {C}, Init::ones, 0, false});
    list.push_back({at + ".bias", {C}, Init::zeros, 0, false});
  };
  auto linear = [&](const std::string& at, int64_t in, int64_t out, double s) {
    list.push_back({at + ".weight", {in, out}, Init::normal, s});
    list.push_back({at + ".bias", {out}, Init::zeros, 0, false});
  };
  for (int64_t i = 0; i < c.layers; ++i) {
    const std::string h = fmt::format("transformer.h.{}.", i);
    norm(h + "ln_1");
    linear(h + "attn.c_attn", C, 3 * C, std);
    linear(h + "attn.c_proj", C, C, std_out);
    norm(h + "ln_2");
    linear(h + "mlp.c_fc", C, F, std);
    linear(h + "mlp.c_proj", F, C, std_out);
  }
  norm("transformer.ln_f");
  if (!c.tied) list.push_back({"lm_head.weight", {c.vocab, C}, Init::normal, std});
  return list;
}

ValueId body(ModelGraph& g) {
  Builder& b = g.b;
  const ModelConfig& c = g.config;
  const double eps = c.real("layer_norm_epsilon", 1e-5);
  const double resid = c.real("resid_pdrop", 0.1), attn = c.real("attn_pdrop", 0.1);
  const std::string act = c.text("activation_function", kActivation);
  auto norm = [&](const std::string& at, ValueId x) {
    return ops::layer_norm(b, x, g.param(at + ".weight"), g.param(at + ".bias"), eps).y;
  };
  auto linear = [&](const std::string& at, ValueId x) {
    return ops::linear(b, x, g.param(at + ".weight"), {.bias = g.param(at + ".bias")});
  };

  ValueId x;  // [T,C], the residual stream
  {
    Builder::Scope s(b, "embed");
    ValueId tokens = ops::embedding(b, g.param("transformer.wte.weight"), g.ids);
    ValueId places = ops::embedding(b, g.param("transformer.wpe.weight"), g.positions);
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
      ValueId qkv = linear(h + "attn.c_attn", norm(h + "ln_1", x));           // [T,3C]
      ValueId a = g.self_attention(i, qkv, kNoValue, kNoValue, scale, attn);  // [T,C]
      x = g.dropout(linear(h + "attn.c_proj", a), resid, x);
    }
    {
      Builder::Scope s(b, "mlp");
      ValueId up = activate(b, linear(h + "mlp.c_fc", norm(h + "ln_2", x)), act);  // [T,F]
      x = g.dropout(linear(h + "mlp.c_proj", up), resid, x);
    }
  }
  Builder::Scope s(b, "ln_f");
  return norm("transformer.ln_f", x);
}

HeadLayer head(ModelGraph& g, ValueId hidden) {
  return {hidden, g.param(g.config.tied ? "transformer.wte.weight" : "lm_head.weight")};
}

// The first GPT-2 checkpoints were saved from the bare model; a writer that keeps one of two tied
// tensors may have kept the head.
std::vector<std::string> other_names(const ModelConfig& c, const std::string& name) {
  std::vector<std::string> names;
  if (name.starts_with("transformer.")) names.push_back(name.substr(12));
  if (c.tied && name == "transformer.wte.weight") names.emplace_back("lm_head.weight");
  return names;
}

}  // namespace

Family family_gpt2() {
  return {.name = "gpt2",
          .model_types = {"gpt2"},
          .heads = {{Head::causal_lm, "GPT2LMHeadModel"}},
          .read_config = read_config,
          .params = params,
          .body = body,
          .head = head,
          .other_names = other_names};
}

}  // namespace hone
