// The order in which PyTorch's optimizers number the weights of a model.
#pragma once

#include <optional>
#include <vector>

#include "learn/models/config.h"
#include "learn/models/param_spec.h"

namespace hone {

// The trained weights of a config, with its adapter if it has one, in the order of named_parameters() of
// Transformers' class or PEFT's model. nullopt: the family does not say the order (Family::module_order).
std::optional<std::vector<ParamSpec>> weights_in_module_order(const ModelConfig& c);

}  // namespace hone
