// Activation functions by the names of Transformers' ACT2FN.
#pragma once

#include "learn/models/family.h"

namespace hone {

// Whether config.json's `key` (absent: `otherwise`) names one that is offered: H2303 lists them.
Status check_activation(const ModelConfig& c, const char* key, const std::string& otherwise);
bool knows_activation(const std::string& name);
// The kind that ops::activation and ops::gate take for a known name; "tanh" is an op of its own.
std::string activation_kind(const std::string& name);
// Applied to x, any shape, by a known name.
ValueId activate(Builder& b, ValueId x, const std::string& name);
ValueId sigmoid(Builder& b, ValueId x);

}  // namespace hone
