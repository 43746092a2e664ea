// Makes the loading of a model's weights cancellable, so that a server can end without reading all of them.
#pragma once

#include <functional>
#include <memory>

#include "learn/checkpoint/safetensors/weight_source.h"

namespace hone {

// Returns a source with the same tensors as `weights`. Once `cancelled` returns true, each read fails with H3412.
std::unique_ptr<WeightSource> cancellable_weights(std::unique_ptr<WeightSource> weights,
                                                  std::function<bool()> cancelled);

}  // namespace hone
