// Activation functions, under the names that Transformers gives them (ACT2FN): "gelu_new", "silu", ...
#pragma once

#include "learn/models/family.h"

namespace hone {

// H2303: the activation that config.json names under `key` (`otherwise` if the key is absent) is not supported; the
// message lists the supported activations.
Status check_activation(const ModelConfig& c, const char* key, const std::string& otherwise);
// Whether hone supports the activation.
bool knows_activation(const std::string& name);
// The kind to give to ops::activation and ops::gate for a supported name, such as "gelu_tanh". These two ops do not
// have the kind "tanh"; use ops::tanh instead.
std::string activation_kind(const std::string& name);
// Applies a supported activation to each element of x.
ValueId activate(Builder& b, ValueId x, const std::string& name);
ValueId sigmoid(Builder& b, ValueId x);

}  // namespace hone
