// The order in which PyTorch's optimizers number the weights of a model. Optimizer states in checkpoints of other
// programs may identify weights only by these numbers.
#pragma once

#include <optional>
#include <vector>

#include "learn/models/config.h"
#include "learn/models/param_spec.h"

namespace hone {

// Returns the trained weights of a model, including those of its adapter. Their order is that of named_parameters() of
// Transformers' class, or of PEFT's model if there is an adapter. nullopt: the order is not known for the family
// (Family::module_order).
std::optional<std::vector<ParamSpec>> weights_in_module_order(const ModelConfig& c);

}  // namespace hone
