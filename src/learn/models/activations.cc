#include "learn/models/activations.h"

#include "base/core/text.h"
#include "learn/models/errors.h"

namespace hone {
namespace {

const std::map<std::string, std::string>& kinds() {
  static const std::map<std::string, std::string> names{{"gelu", "gelu"},
                                                        {"gelu_python", "gelu"},
                                                        {"gelu_new", "gelu_tanh"},
                                                        {"gelu_fast", "gelu_tanh"},
                                                        {"gelu_accurate", "gelu_tanh"},
                                                        {"gelu_pytorch_tanh", "gelu_tanh"},
                                                        {"gelu_python_tanh", "gelu_tanh"},
                                                        {"relu", "relu"},
                                                        {"silu", "silu"},
                                                        {"swish", "silu"},
                                                        {"tanh", "tanh"},
                                                        {"linear", "none"}};
  return names;
}

}  // namespace

bool knows_activation(const std::string& name) { return kinds().contains(name); }

std::string activation_kind(const std::string& name) { return kinds().at(name); }

Status check_activation(const ModelConfig& c, const char* key, const std::string& otherwise) {
  const std::string name = c.text(key, otherwise);
  if (knows_activation(name)) return Ok{};
  std::vector<std::string> offered;
  for (const auto& [known, kind] : kinds()) offered.push_back(known);
  return Error(err::kConfigNotOffered,
               fmt::format("config.json: {} '{}' is not supported", key, name))
      .todo(fmt::format("{} work", join(offered, ", ")));
}

ValueId activate(Builder& b, ValueId x, const std::string& name) {
  const std::string kind = activation_kind(name);
  return kind == "tanh" ? ops::tanh(b, x) : ops::activation(b, x, kind);
}

// (1 + tanh(x / 2)) / 2, which does not overflow.
ValueId sigmoid(Builder& b, ValueId x) {
  const ValueId half = ops::constant(b, 0.5, {DType::f32, {}});
  return ops::add(b, ops::mul(b, ops::tanh(b, ops::mul(b, x, half)), half), half);
}

}  // namespace hone
