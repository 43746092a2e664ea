// Weights whose reading can be cancelled: a server that has to end does not wait for the rest of a model.
#pragma once

#include <functional>
#include <memory>

#include "learn/checkpoint/safetensors/weight_source.h"

namespace hone {

// Reads the same tensors. Once `cancelled` returns true each read is H3412.
std::unique_ptr<WeightSource> cancellable_weights(std::unique_ptr<WeightSource> weights,
                                                  std::function<bool()> cancelled);

}  // namespace hone
