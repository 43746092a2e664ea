// Reads weights that were saved from inside a wrapper of their model, such as DataParallel or torch.compile, which add
// a prefix to the names.
#pragma once

#include <memory>
#include <string>

#include "learn/checkpoint/safetensors/weight_source.h"

namespace hone {

// Removes from a name the parts that wrappers of PyTorch add to it: "module.", "_orig_mod.", "_forward_module.",
// "_fsdp_wrapped_module.", "_checkpoint_wrapped_module.".
std::string without_wrappers(std::string name);
// Returns the weights under their names without wrappers, and logs one line about it. Returns `weights` unchanged if
// no name has a wrapper, or if two tensors would get the same name.
std::unique_ptr<WeightSource> unwrapped(std::unique_ptr<WeightSource> weights);

}  // namespace hone
