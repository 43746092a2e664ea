// Nomic-BERT (Nussbaum et al. 2024, arXiv 2402.01613): BERT's encoder with rotary positions, gated
// MLPs and no biases in its layers. Configs have the keys of Transformers' class, or those of the
// code that first came with the models: n_embd, n_layer, rotary_emb_base.
#include "learn/models/activations.h"
#include "learn/models/encoder_gguf.h"
#include "learn/models/errors.h"
#include "learn/models/rotary_encoder.h"

namespace hone {
namespace {

// Defaults of Transformers' config class.
constexpr const char* kUsualNomic =
    R"({"vocab_size": 30528, "hidden_size": 768, "num_hidden_layers": 12,
    "num_attention_heads": 12, "intermediate_size": 3072, "hidden_act": "silu",
    "hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0,
    "max_position_embeddings": 2048, "type_vocab_size": 2, "initializer_range": 0.02,
    "layer_norm_eps": 1e-12, "pad_token_id": 0, "classifier_dropout": null,
    "rope_parameters": {"rope_theta": 1000.0, "rope_type": "default"}})";

bool first_code(const ModelConfig& c) { return c.config.contains("n_embd"); }

EncoderStyle nomic_style(const ModelConfig& c) {
  EncoderStyle style{.decoder = "cls.predictions.decoder.weight",
                     .names = {.attended = "attn.out_proj",
                               .attended_norm = "norm1",
                               .down = "mlp.fc2",
                               .norm = "norm2"},
                     .positions = false,
                     .usual_dropout = 0,
                     .usual_act = "silu",
                     .embeddings_norm = "emb_ln",
                     .output_biases = false,
                     .layers = "encoder.layers."};
  if (first_code(c))
    style.keys = {.hidden = "n_embd",
                  .layers = "n_layer",
                  .heads = "n_head",
                  .inner = "n_inner",
                  .dropout = "resid_pdrop",
                  .attention_dropout = "attn_pdrop",
                  .norm_eps = "layer_norm_epsilon",
                  .positions = "max_trained_positions"};
  return style;
}

// Keys of the first code with the values that the graph has.
Status check_first_code(const ModelConfig& c) {
  if (const std::string act = c.text("activation_function", "swiglu"); act != "swiglu")
    return Error(err::kConfigNotOffered,
                 fmt::format("config.json: activation_function '{}' is not supported", act))
        .todo("swiglu works");
  for (const char* key :
       {"prenorm", "parallel_block", "causal", "use_rms_norm", "rotary_emb_interleaved",
        "qkv_proj_bias", "mlp_fc1_bias", "mlp_fc2_bias", "scale_attn_by_inverse_layer_idx"})
    if (c.flag(key, false))
      return Error(err::kConfigNotOffered, fmt::format("config.json: {} is not supported", key))
          .todo("false works");
  if (c.real("embd_pdrop", 0) != c.real("resid_pdrop", 0))
    return Error(err::kConfigNotOffered,
                 "config.json: an embd_pdrop other than resid_pdrop is not supported");
  if (c.real("rotary_emb_fraction", 1) != 1)
    return Error(err::kConfigNotOffered,
                 "config.json: rotary_emb_fraction other than 1 is not supported");
  if (c.real("num_experts", 0) > 0 || c.real("moe_every_n_layers", 0) > 0)
    return Error(err::kConfigNotOffered, "config.json: experts are not supported")
        .todo("models whose layers all have one MLP work: nomic-embed-text-v1 and v1.5");
  return Ok{};
}

double nomic_theta(const ModelConfig& c) {
  return read_rotary_theta(c, first_code(c) ? "rotary_emb_base" : "rope_theta", 1000).value();
}

Status read_nomic_config(ModelConfig& c) {
  if (first_code(c)) HONE_TRY(check_first_code(c));
  HONE_TRY(read_encoder_config(c, nomic_style(c)));
  HONE_TRY(read_rotary_theta(c, first_code(c) ? "rotary_emb_base" : "rope_theta", 1000));
  if (first_code(c) && !c.config.contains("max_trained_positions"))
    c.max_positions = HONE_TRY(c.integer("n_positions", 2048));
  if (HONE_TRY(c.integer("head_dim", c.head_dim)) != c.head_dim)
    return Error(err::kConfigNotOffered,
                 "config.json: a head_dim other than hidden_size / num_attention_heads is not "
                 "supported");
  HONE_TRY(check_gated_activation(c, nomic_style(c)));
  return check_pairs(c);
}

ValueId nomic_body(ModelGraph& g) {
  const ModelConfig& c = g.config;
  EncoderStyle style = nomic_style(c);
  const ValueId frequencies = g.constant({"rope.inv_freq", {c.head_dim / 2}, [&c] {
                                            return rotary_frequencies(nomic_theta(c), c.head_dim);
                                          }});
  const double drop = attention_dropout_of(c, style);
  style.attend = [&g, frequencies, drop](int64_t layer, const std::string& at, ValueId x) {
    return rotary_attention(g, layer, at + "attn.Wqkv", x,
                            {.frequencies = frequencies, .dropout = drop});
  };
  const int64_t F = c.integer(style.keys.inner, 4 * c.hidden).value();
  const std::string act = activation_kind(hidden_act_of(c, style));
  style.inner = [&g, F, act](const std::string& at, ValueId x, const LinearLayer& o) {
    ValueId value = g.linear(at + "mlp.fc11", x, F, o);  // [N,F]
    ValueId gate = g.linear(at + "mlp.fc12", x, F, o);
    return ops::gate(g.b, gate, value, act);
  };
  return encoder_body(g, style);
}

HeadLayer nomic_head(ModelGraph& g, ValueId x) {
  const ModelConfig& c = g.config;
  const EncoderStyle style = nomic_style(c);
  g.of_head = true;
  if (c.head == Head::masked_lm) {
    const std::string at = "cls.predictions.transform.";
    const ValueId bias =
        encoder_decoder_bias(g, "cls.predictions.bias", "cls.predictions.decoder.bias");
    x = encoder_transform(g, at + "dense", at + "layer_norm", x, hidden_act_of(c, style), style);
    return {x, encoder_decoder_matrix(g, style), bias};
  }
  const double drop = classifier_dropout_of(c, style);
  if (c.head == Head::token_classification)
    return encoder_classifier(g, "classifier", g.dropout(x, drop));
  x = encoder_pooled(g, encoder_prefix(c) + "pooler.dense", x);
  return encoder_classifier(g, "classifier", g.dropout_of_sequences(x, drop));
}

// The converter's names for the keys of both codes; files become configs of Transformers.
const GgufLayout* gguf_of_nomic_bert() {
  static const GgufLayout layout = [] {
    GgufLayout g = encoder_gguf("nomic-bert", "bert", nomic_style({}));
    for (GgufKey& key : g.keys) {
      if (key.gguf == "feed_forward_length")
        key.values = [](const ModelConfig& c) {
          return std::vector{c.integer(nomic_style(c).keys.inner, 4 * c.hidden).value()};
        };
      if (key.is_real)
        key.real = [](const ModelConfig& c) {
          return c.real(nomic_style(c).keys.norm_eps, nomic_style(c).norm_eps);
        };
    }
    g.keys.push_back(
        {.gguf = "rope.freq_base", .config = "rope_theta", .is_real = true, .real = nomic_theta});
    std::erase_if(g.of_layer, [](const GgufName& n) {
      return n.gguf == "attn_q" || n.gguf == "attn_k" || n.gguf == "attn_v" || n.gguf == "ffn_up";
    });
    g.of_layer.insert(
        g.of_layer.end(),
        {{"attn_qkv", "attn.Wqkv"}, {"ffn_up", "mlp.fc11"}, {"ffn_gate", "mlp.fc12"}});
    g.unwritable = [](const ModelConfig& c) { return encoder_unwritable(c, nomic_style(c)); };
    return g;
  }();
  return &layout;
}

}  // namespace

Family family_nomic_bert() {
  return encoder_family(
      {.name = "nomic_bert",
       .model_types = {{"nomic_bert", "NomicBert", kUsualNomic, {}, gguf_of_nomic_bert()}},
       .read_config = read_nomic_config,
       .body = nomic_body,
       .head = nomic_head,
       .dropouts = {"resid_pdrop", "attn_pdrop", "embd_pdrop"},
       .unread = {".rotary_emb.inv_freq"}},
      nomic_style({}));
}

}  // namespace hone
