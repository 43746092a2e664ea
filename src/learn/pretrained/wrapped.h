// Weights that were saved from inside a wrapper of their model.
#pragma once

#include <memory>
#include <string>

#include "learn/checkpoint/safetensors/weight_source.h"

namespace hone {

// The name without the parts that wrappers of PyTorch put into it: "module.", "_orig_mod.",
// "_forward_module.", "_fsdp_wrapped_module.", "_checkpoint_wrapped_module.".
std::string without_wrappers(std::string name);
// The weights under these names, and a line of log that says so; the weights as they are if no name
// has a wrapper, or two names would become one.
std::unique_ptr<WeightSource> unwrapped(std::unique_ptr<WeightSource> weights);

}  // namespace hone
