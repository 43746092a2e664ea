#include "learn/models/gte_blocks.h"

#include "learn/models/activations.h"
#include "learn/models/errors.h"
#include "learn/models/rotary_encoder.h"

namespace hone {
namespace {

constexpr const char* kNtk = "ntk";

EncoderStyle gte_style() {
  return {.decoder = "lm_head.decoder.weight",
          .names = {.attended = "attention.o_proj",
                    .attended_norm = "attn_ln",
                    .down = "mlp.down_proj",
                    .norm = "mlp_ln"},
          .positions = false,
          .usual_types = 1,
          .least_types = 0,
          .usual_padding = 1};
}

bool of_first_code(const ModelConfig& c) { return c.family == "new"; }

// Transformers' class has one base; the code that first came with the models has a base and scales it.
double usual_theta(const ModelConfig& c) { return of_first_code(c) ? 10000 : 160000; }

double gte_theta(const ModelConfig& c) {
  return read_rotary_theta(c, "rope_theta", usual_theta(c), kNtk).value();
}

// rope_scaling {"type": "ntk", "factor": f}; 1 without it.
double ntk_factor(const ModelConfig& c) {
  const auto it = c.config.find("rope_scaling");
  if (it == c.config.end() || !it->is_object()) return 1;
  const auto factor = it->find("factor");
  return factor != it->end() && factor->is_number() ? factor->get<double>() : 1;
}

// NTK scaling (kexue.fm/archives/9706): the base times f, every frequency divided by f^(2/D).
std::vector<float> gte_frequencies(const ModelConfig& c) {
  const double factor = ntk_factor(c);
  std::vector<float> table = rotary_frequencies(gte_theta(c) * factor, c.head_dim);
  const auto divisor = static_cast<float>(std::pow(factor, 2 / static_cast<double>(c.head_dim)));
  for (float& f : table) f /= divisor;
  return table;
}

Status check_keys_of_first_code(const ModelConfig& c) {
  if (const std::string kind = c.text("layer_norm_type", "layer_norm"); kind != "layer_norm")
    return Error(err::kConfigNotOffered,
                 fmt::format("config.json: layer_norm_type '{}' is not supported", kind))
        .todo("layer_norm works");
  if (!c.flag("pack_qkv", true))
    return Error(err::kConfigNotOffered, "config.json: pack_qkv false is not supported");
  if (c.flag("logn_attention_scale", false))
    return Error(err::kConfigNotOffered, "config.json: logn_attention_scale is not supported");
  if (const auto it = c.config.find("rope_scaling"); it != c.config.end() && it->is_object() &&
                                                     it->contains("mixed_b") &&
                                                     !(*it)["mixed_b"].is_null())
    return Error(err::kConfigNotOffered, "config.json: rope_scaling with mixed_b is not supported");
  return Ok{};
}

Status read_gte_config(ModelConfig& c) {
  HONE_TRY(read_encoder_config(c, gte_style()));
  if (of_first_code(c)) HONE_TRY(check_keys_of_first_code(c));
  HONE_TRY(read_rotary_theta(c, "rope_theta", usual_theta(c), of_first_code(c) ? kNtk : ""));
  if (ntk_factor(c) <= 0)
    return Error(err::kBadConfig, "config.json: the factor of rope_scaling is not positive");
  if (c.config.contains("head_dim") && HONE_TRY(c.integer("head_dim")) != c.head_dim)
    return Error(err::kConfigNotOffered,
                 "config.json: a head_dim other than hidden_size / num_attention_heads is not "
                 "supported");
  HONE_TRY(check_gated_activation(c, gte_style()));
  return check_pairs(c);
}

ValueId gte_body(ModelGraph& g) {
  const ModelConfig& c = g.config;
  EncoderStyle style = gte_style();
  const ValueId frequencies =
      g.constant({"rope.inv_freq", {c.head_dim / 2}, [&c] { return gte_frequencies(c); }});
  const double drop_attention = c.real("attention_probs_dropout_prob", 0),
               drop = c.real("hidden_dropout_prob", 0.1);
  style.attend = [&g, frequencies, drop_attention](int64_t layer, const std::string& at,
                                                   ValueId x) {
    return rotary_attention(g, layer, at + "attention.qkv_proj", x,
                            {.frequencies = frequencies, .bias = true, .dropout = drop_attention});
  };
  style.inner = [&g, &c, drop](const std::string& at, ValueId x, const LinearLayer& o) {
    const int64_t F = c.integer("intermediate_size").value();
    const ValueId both =
        g.linear(at + "mlp.up_gate_proj", x, 2 * F, {.bias = false, .rows = o.rows});  // [N,2F]
    const auto [value, gate] = halves(g, both);
    Builder::Scope s(g.b, "gate");
    const ValueId up = ops::gate(g.b, gate, value, activation_kind(hidden_act_of(c)));
    return o.rows == LinearLayer::Rows::sequences ? g.dropout_of_sequences(up, drop)
                                                  : g.dropout(up, drop);
  };
  return encoder_body(g, style);
}

HeadLayer gte_head(ModelGraph& g, ValueId x) {
  const ModelConfig& c = g.config;
  const EncoderStyle style = gte_style();
  g.of_head = true;
  if (c.head == Head::masked_lm) {
    x = encoder_transform(g, "lm_head.dense", "lm_head.norm", x, "gelu");
    const ValueId matrix = encoder_decoder_matrix(g, style);
    return {x, matrix, g.zeros("lm_head.decoder.bias", c.vocab)};
  }
  if (c.head == Head::token_classification)
    return encoder_classifier(g, "classifier", g.dropout(x, classifier_dropout_of(c)));
  return pooled_classifier(g, encoder_prefix(c) + "pooler.dense", x, classifier_dropout_of(c));
}

}  // namespace

Family gte_family(Family f) {
  f.read_config = read_gte_config;
  f.body = gte_body;
  f.head = gte_head;
  f.unread = {".rotary_emb.inv_freq"};
  return encoder_family(std::move(f), gte_style());
}

}  // namespace hone
