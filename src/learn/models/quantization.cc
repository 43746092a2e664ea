#include "learn/models/quantization.h"

#include <algorithm>

#include "engine/ops/block_schemes.h"
#include "learn/models/adapter.h"
#include "learn/models/config.h"
#include "learn/models/param_spec.h"

namespace hone {

std::string Quantization::scheme_of(const ModelConfig& c, const std::string& layer, int64_t columns,
                                    const std::string& weight) const {
  const auto named = [&](const std::string& part) { return names_part(layer, part); };
  if (classifies(c.head) &&
      std::any_of(std::begin(kClassifierModules), std::end(kClassifierModules), named))
    return "";
  if (c.adapter && c.adapter->saves(c, layer)) return "";
  if (!of_file.empty()) {
    const auto found = of_file.find(weight.empty() ? layer + ".weight" : weight);
    return found != of_file.end() && block_scheme(found->second)->holds(columns) ? found->second
                                                                                 : "";
  }
  if (c.family.starts_with("t5") && layer.ends_with(".wo"))
    return "";  // rule of _keep_in_fp32_modules
  if (std::any_of(skipped.begin(), skipped.end(), named)) return "";
  return block_scheme(scheme)->holds(columns) ? scheme : "";
}

Shape block_shape(const ParamSpec& spec) {
  const size_t last = spec.shape.size() - 1;
  const int64_t stacks = last == 2 ? spec.shape[0] : 1;
  const int64_t out = spec.shape[spec.in_out ? last : last - 1],
                in = spec.shape[spec.in_out ? last - 1 : last];
  return {stacks * out, in};
}

int64_t family_element(const ParamSpec& spec, int64_t i) {
  if (!spec.in_out) return i;
  const size_t last = spec.shape.size() - 1;
  const int64_t in = spec.shape[last - 1], out = spec.shape[last];
  const int64_t stack = i / (in * out), within = i % (in * out);
  return stack * in * out + within % in * out + within / in;
}

std::vector<KeptState> kept_states(const ParamSpec& spec) {
  if (spec.scheme.empty()) return {{spec.name, {DType::f32, spec.shape}}};
  const BlockScheme& scheme = *block_scheme(spec.scheme);
  const Shape shape = block_shape(spec);
  const int64_t scales = scheme.scale_count(shape[0], shape[1]);
  std::vector<KeptState> states{{spec.name, {DType::u8, {shape[0], scheme.row_bytes(shape[1])}}}};
  if (scheme.scales_inside()) return states;
  states.push_back({spec.name + kScales, {spec.nested ? DType::u8 : DType::f32, {scales}}});
  if (!spec.nested) return states;
  states.push_back(
      {spec.name + kNestedScales, {DType::f32, {(scales + kNestedBlock - 1) / kNestedBlock}}});
  states.push_back({spec.name + kScaleOffset, {DType::f32, {}}});
  return states;
}

}  // namespace hone
