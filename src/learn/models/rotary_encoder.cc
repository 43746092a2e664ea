#include "learn/models/rotary_encoder.h"

#include "learn/models/errors.h"

namespace hone {

Result<double> read_rotary_theta(const ModelConfig& c, const std::string& key, double usual,
                                 const std::string& more) {
  double theta = c.real(key, usual);
  for (const char* group : {"rope_scaling", "rope_parameters"}) {
    const auto it = c.config.find(group);
    if (it == c.config.end() || it->is_null()) continue;
    if (!it->is_object())
      return Error(err::kBadConfig, fmt::format("config.json: '{}' is {}, an object is expected",
                                                group, it->dump()));
    const auto text = [&](const char* name) {
      const auto at = it->find(name);
      return at != it->end() && at->is_string() ? at->get<std::string>() : std::string();
    };
    const std::string kind = text("rope_type").empty() ? text("type") : text("rope_type");
    if (!kind.empty() && kind != "default" && kind != more)
      return Error(err::kConfigNotOffered,
                   fmt::format("config.json: rope_type '{}' is not supported", kind))
          .todo(more.empty() ? "default works" : fmt::format("default and {} work", more));
    if (const auto at = it->find("rope_theta"); at != it->end() && at->is_number()) theta = *at;
  }
  if (!(theta > 0))
    return Error(err::kBadConfig,
                 fmt::format("config.json: '{}' is {}, a positive number is expected", key, theta));
  return theta;
}

std::vector<float> rotary_frequencies(double theta, int64_t head_dim) {
  std::vector<float> table;
  for (int64_t i = 0; i < head_dim / 2; ++i)
    table.push_back(1.0f / std::pow(static_cast<float>(theta),
                                    static_cast<float>(2 * i) / static_cast<float>(head_dim)));
  return table;
}

Status check_pairs(const ModelConfig& c) {
  if (c.head_dim % 2 == 0) return Ok{};
  return Error(
      err::kBadConfig,
      fmt::format("config.json: the head size {} is odd, rotary positions need pairs", c.head_dim));
}

Status check_gated_activation(const ModelConfig& c, const EncoderStyle& style) {
  const std::string act = hidden_act_of(c, style);
  if (act != "tanh" && act != "linear") return Ok{};
  return Error(err::kConfigNotOffered,
               fmt::format("config.json: {} '{}' is not supported in an MLP "
                           "with a gate",
                           style.keys.act, act))
      .todo("gelu, silu and relu work");
}

ValueId rotary_attention(ModelGraph& g, int64_t layer, const std::string& at, ValueId x,
                         const RotaryAttention& o) {
  Builder& b = g.b;
  const ModelConfig& c = g.config;
  const int64_t C = c.heads * c.head_dim;
  const ValueId all = g.linear(at, x, 3 * C, {.bias = o.bias});  // [T,3C]
  const auto rotated = [&](int64_t first) {
    return ops::rope(b, ops::slice(b, all, 1, first, first + C), g.positions, o.frequencies,
                     c.heads);
  };
  const ValueId q = rotated(0);
  const ValueId k = rotated(C);
  const ValueId v = ops::slice(b, all, 1, 2 * C, 3 * C);
  return g.self_attention(layer, q, k, v, 1 / std::sqrt(static_cast<double>(c.head_dim)), o.dropout,
                          o.window, false);
}

std::pair<ValueId, ValueId> halves(ModelGraph& g, ValueId x) {
  const int64_t columns = g.b.type(x).shape[1];
  const ValueId first = ops::slice(g.b, x, 1, 0, columns / 2);
  return {first, ops::slice(g.b, x, 1, columns / 2, columns)};
}

}  // namespace hone
