#include "learn/models/rotation.h"

#include "learn/models/errors.h"

namespace hone {
namespace {

using nlohmann::json;

// Types with the keys that each needs.
const std::map<std::string, std::vector<const char*>>& rope_types() {
  static const std::map<std::string, std::vector<const char*>> types{
      {"default", {}},
      {"linear", {"factor"}},
      {"dynamic", {"alpha"}},
      {"proportional", {}},
      {"llama3",
       {"factor", "low_freq_factor", "high_freq_factor", "original_max_position_embeddings"}},
      {"yarn", {"original_max_position_embeddings"}},
      {"longrope", {"original_max_position_embeddings"}}};
  return types;
}

bool is_positive(const json& rope, const char* key) {
  const auto it = rope.find(key);
  return it != rope.end() && it->is_number() && it->get<double>() > 0;
}

double number_or(const json& rope, const char* key, double otherwise) {
  return is_positive(rope, key) ? rope[key].get<double>() : otherwise;
}

// The head size of the layers without a window, or of those with one.
int64_t head_size(const ModelConfig& c, const RotationStyle& style, bool local) {
  return style.head_dim > 0 && !local ? style.head_dim : c.head_dim;
}

int64_t share_of_head(int64_t head, const json& rope) {
  return static_cast<int64_t>(static_cast<double>(head) *
                              rope["partial_rotary_factor"].get<double>());
}
// Channels of a head that turn; a frequency may be 0.
int64_t turned_channels(int64_t head, const json& rope) {
  return rope["rope_type"] == "proportional" ? head : share_of_head(head, rope);
}

Status check_factors(int64_t head, const json& rope, const char* key) {
  const auto it = rope.find(key);
  const auto half = static_cast<size_t>(turned_channels(head, rope) / 2);
  const bool fits = it != rope.end() && it->is_array() && it->size() == half &&
                    std::all_of(it->begin(), it->end(),
                                [](const json& x) { return x.is_number() && x.get<double>() > 0; });
  if (fits) return Ok{};
  return Error(
      err::kBadConfig,
      fmt::format("config.json: rope_type 'longrope' needs {} positive numbers '{}'", half, key));
}

Status check_parameters(int64_t head, const json& rope) {
  if (!rope["rope_type"].is_string())
    return Error(err::kBadConfig, "config.json: rope_type is not a text");
  const std::string type = rope["rope_type"];
  const auto found = rope_types().find(type);
  if (found == rope_types().end() || (type == "dynamic" && !rope.contains("alpha")))
    return Error(err::kConfigNotOffered,
                 fmt::format("config.json: rope_type '{}' is not supported", type))
        .todo("default, linear, llama3, yarn, longrope, proportional, and dynamic with alpha work");
  std::vector<const char*> keys{"rope_theta", "partial_rotary_factor"};
  keys.insert(keys.end(), found->second.begin(), found->second.end());
  for (const char* key : keys)
    if (!is_positive(rope, key))
      return Error(
          err::kBadConfig,
          fmt::format("config.json: rope_type '{}' needs a positive number '{}'", type, key));
  const int64_t turned = turned_channels(head, rope);
  if (turned < 2 || turned % 2 != 0 || turned > head || share_of_head(head, rope) > head)
    return Error(err::kBadConfig,
                 fmt::format("config.json: {} of {} channels of a head turn; an even number is "
                             "expected",
                             turned, head));
  if (type == "longrope") {
    HONE_TRY(check_factors(head, rope, "short_factor"));
    HONE_TRY(check_factors(head, rope, "long_factor"));
  }
  return Ok{};
}

// yarn keeps frequencies that turn often within the original length, divides those that turn
// seldom, and blends between. `i` of R/2.
double yarn_frequency(const ModelConfig& c, const json& rope, int64_t i, int64_t channels) {
  const double theta = rope["rope_theta"], original = rope["original_max_position_embeddings"];
  const double factor = number_or(rope, "factor", static_cast<double>(c.max_positions) / original);
  const auto dim = static_cast<double>(channels);
  const auto place = [&](double turns) {  // of the frequency that turns this often
    return dim * std::log(original / (turns * 2 * M_PI)) / (2 * std::log(theta));
  };
  double low = place(number_or(rope, "beta_fast", 32)),
         high = place(number_or(rope, "beta_slow", 1));
  if (rope.value("truncate", json(true)) != json(false)) {
    low = std::floor(low);
    high = std::ceil(high);
  }
  low = std::max(low, 0.0);
  high = std::min(high, dim - 1);
  if (low == high) high += 0.001;
  const double divided = std::clamp((static_cast<double>(i) - low) / (high - low), 0.0, 1.0);
  const double plain = std::pow(theta, -static_cast<double>(2 * i) / dim);
  return plain / factor * divided + plain * (1 - divided);
}

// inv_freq[i] = theta^(-2i/R), scaled by rope_type; f32 as Transformers computes it.
// `factors`: the key of longrope's list.
std::vector<float> frequencies_of(const ModelConfig& c, int64_t head, const json& rope,
                                  const char* factors) {
  const int64_t channels = turned_channels(head, rope);
  const std::string type = rope["rope_type"];
  float theta = rope["rope_theta"].get<float>();
  if (type == "dynamic") {
    const double dim = static_cast<double>(channels);
    theta = static_cast<float>(rope["rope_theta"].get<double>() *
                               std::pow(rope["alpha"].get<double>(), dim / (dim - 2)));
  }
  std::vector<float> table;
  for (int64_t i = 0; i < channels / 2; ++i) {
    float f = 1.0f / std::pow(theta, static_cast<float>(2 * i) / static_cast<float>(channels));
    if (type == "linear") f /= rope["factor"].get<float>();
    if (type == "proportional")
      f = i < share_of_head(head, rope) / 2 ? f / static_cast<float>(number_or(rope, "factor", 1))
                                            : 0;
    if (type == "yarn") f = static_cast<float>(yarn_frequency(c, rope, i, channels));
    if (type == "longrope") f /= rope[factors][static_cast<size_t>(i)].get<float>();
    if (type == "llama3") {
      const double factor = rope["factor"], low = rope["low_freq_factor"],
                   high = rope["high_freq_factor"];
      const double original = rope["original_max_position_embeddings"];
      const double wavelength = 2 * M_PI / static_cast<double>(f);
      if (wavelength > original / low) {
        f = static_cast<float>(static_cast<double>(f) / factor);
      } else if (wavelength >= original / high) {
        const double smooth = (original / wavelength - low) / (high - low);
        f = static_cast<float>((1 - smooth) * static_cast<double>(f) / factor +
                               smooth * static_cast<double>(f));
      }
    }
    table.push_back(f);
  }
  return table;
}

}  // namespace

// Transformers 5 keeps rope_theta and rope_type in rope_parameters, which may have a part for each
// type of layer; version 4 in rope_theta and rope_scaling.
json rope_parameters(const ModelConfig& c, const RotationStyle& style, bool local) {
  const bool apart = style.local_theta_key != nullptr;
  const char* part = local ? "sliding_attention" : "full_attention";
  json rope = json::object();
  rope["rope_theta"] = local && apart ? c.real(style.local_theta_key, style.local_theta)
                                      : c.real(style.theta_key, style.theta);
  rope["partial_rotary_factor"] = c.real(style.share_key, style.share);
  for (const char* key : {"rope_scaling", "rope_parameters"}) {
    const auto it = c.config.find(key);
    if (it == c.config.end() || !it->is_object()) continue;
    const bool by_layer = it->contains("full_attention") || it->contains("sliding_attention");
    if (by_layer && it->contains(part) && (*it)[part].is_object())
      rope.update((*it)[part]);
    else if (!by_layer && !(local && apart))
      rope.update(*it);
  }
  if (!rope.contains("rope_type"))
    rope["rope_type"] = rope.contains("type") ? rope["type"] : "default";
  if (rope["rope_type"] == "su" || (rope["rope_type"] == "yarn" && rope.contains("short_factor")))
    rope["rope_type"] = "longrope";  // Phi-3's first names for it
  if (const auto original = c.config.find("original_max_position_embeddings");
      original != c.config.end() && original->is_number())
    rope["original_max_position_embeddings"] = *original;
  else if (rope["rope_type"] != "llama3" && !rope.contains("original_max_position_embeddings"))
    rope["original_max_position_embeddings"] = c.max_positions;
  return rope;
}

// Sources: arXiv 2309.00071 (yarn) and 2402.13753 (longrope), with the defaults of Transformers.
double rope_scaling(const ModelConfig& c, const json& rope) {
  const std::string type = rope["rope_type"];
  if (type != "yarn" && type != "longrope") return 1;
  if (is_positive(rope, "attention_factor")) return rope["attention_factor"];
  const double original = rope["original_max_position_embeddings"];
  const double factor = number_or(rope, "factor", static_cast<double>(c.max_positions) / original);
  if (factor <= 1) return 1;
  if (type == "longrope") return std::sqrt(1 + std::log(factor) / std::log(original));
  const auto scale = [&](double m) { return 0.1 * m * std::log(factor) + 1; };
  if (is_positive(rope, "mscale") && is_positive(rope, "mscale_all_dim"))
    return scale(rope["mscale"]) / scale(rope["mscale_all_dim"]);
  return scale(1);
}

Status check_rotation(const ModelConfig& c, const RotationStyle& style) {
  for (const char* key : {"rope_scaling", "rope_parameters"})
    if (auto it = c.config.find(key); it != c.config.end() && !it->is_null() && !it->is_object())
      return Error(err::kBadConfig,
                   fmt::format("config.json: '{}' is {}, an object is expected", key, it->dump()));
  HONE_TRY(check_parameters(head_size(c, style, false), rope_parameters(c, style)));
  if (style.local_theta_key == nullptr) return Ok{};
  const json local = rope_parameters(c, style, true);
  if (local["rope_type"] == "longrope")
    return Error(err::kConfigNotOffered,
                 "config.json: rope_type 'longrope' of layers with a window is not supported");
  return check_parameters(head_size(c, style, true), local);
}

Rotation::Rotation(ModelGraph& g, const RotationStyle& style) : g_(g), style_(style) {
  const ModelConfig& c = g.config;
  const json rope = rope_parameters(c, style);
  const int64_t head = head_size(c, style, false), half = turned_channels(head, rope) / 2;
  usual_ = g.constant({"rope.inv_freq", {half}, [&c, head, rope] {
                         return frequencies_of(c, head, rope, "short_factor");
                       }});
  scaling_ = rope_scaling(c, rope);
  const bool by_length = rope["rope_type"] == "longrope";
  if (by_length || rope["rope_type"] == "yarn")
    original_ = rope["original_max_position_embeddings"].get<int64_t>();
  if (by_length)
    long_ = g.constant({"rope.long_inv_freq", {half}, [&c, head, rope] {
                          return frequencies_of(c, head, rope, "long_factor");
                        }});
  if (style.local_theta_key == nullptr) return;
  const json local = rope_parameters(c, style, true);
  const int64_t near = head_size(c, style, true);
  local_ =
      g.constant({"rope.local_inv_freq", {turned_channels(near, local) / 2}, [&c, near, local] {
                    return frequencies_of(c, near, local, "short_factor");
                  }});
  local_scaling_ = rope_scaling(c, local);
}

ValueId Rotation::with(ValueId frequencies, double scaling, ValueId x, int64_t heads) const {
  if (!style_.interleaved) return ops::rope(g_.b, x, g_.positions, frequencies, heads, scaling);
  Attrs attrs{{"heads", heads}, {"interleaved", true}};
  if (scaling != 1) attrs.set("attention_scaling", scaling);
  return g_.b.emit1("rope", {x, g_.positions, frequencies}, attrs);
}

// bool [T,width]: the token's text is longer than the original length.
ValueId Rotation::rows_of_long_texts(int64_t width) const {
  Builder& b = g_.b;
  const int64_t tokens = b.type(g_.positions).shape[0], texts = b.type(g_.cu_seqlens).shape[0] - 1;
  const Type grid{DType::i32, {tokens, texts}};
  ValueId first = ops::slice(b, g_.cu_seqlens, 0, 0, texts);
  ValueId end = ops::slice(b, g_.cu_seqlens, 0, 1, texts + 1);
  ValueId longer =
      ops::compare(b, ops::sub(b, end, first),
                   ops::constant(b, static_cast<double>(original_), {DType::i32, {}}), "gt");
  ValueId place = ops::iota(b, grid, 0);
  const auto by_text = [&](ValueId v) { return ops::broadcast(b, v, grid.shape, {1}); };
  ValueId inside = ops::compare(b, place, by_text(first), "ge");
  inside = ops::minimum(b, inside, ops::compare(b, place, by_text(end), "lt"));
  inside = ops::minimum(b, inside, by_text(longer));
  ValueId count = ops::reduce_sum(b, ops::cast(b, inside, DType::i32), {1});
  ValueId row = ops::compare(b, count, ops::constant(b, 0, {DType::i32, {}}), "gt");
  return ops::broadcast(b, row, {tokens, width}, {0});
}

// longrope has other frequencies for texts beyond the original length. In a cache, whose keys stay
// as they are, a program's longest text decides, as in llama.cpp.
ValueId Rotation::turn(ValueId x, int64_t heads, bool local) const {
  if (local && local_ != kNoValue) return with(local_, local_scaling_, x, heads);
  if (long_ == kNoValue || g_.longest() <= original_) return with(usual_, scaling_, x, heads);
  const ValueId far = with(long_, scaling_, x, heads);
  if (g_.mode == ModelGraph::Mode::cached) return far;
  const ValueId near = with(usual_, scaling_, x, heads);
  return ops::select(g_.b, rows_of_long_texts(g_.b.type(x).shape[1]), far, near);
}

ValueId Rotation::scale_queries(ValueId q) const {
  Builder& b = g_.b;
  const json rope = rope_parameters(g_.config, style_);
  const double beta = number_or(rope, "llama_4_scaling_beta", 0);
  if (beta == 0 || original_ == 0 || g_.longest() <= original_) return q;
  const auto number = [&](double x) { return ops::constant(b, x, {DType::f32, {}}); };
  ValueId periods =
      ops::div(b, ops::cast(b, g_.positions, DType::f32), number(static_cast<double>(original_)));
  periods = ops::cast(b, ops::cast(b, periods, DType::i32), DType::f32);  // floor
  ValueId scale = ops::log(b, ops::add(b, periods, number(1)));
  scale = ops::add(b, ops::mul(b, scale, number(beta)), number(1));
  return ops::mul(b, q, ops::broadcast(b, scale, b.type(q).shape, {0}));
}

}  // namespace hone
