// Checkpoints that Transformers saved with bitsandbytes: the weight of a linear layer is kept in
// blocks, and further tensors describe its form (docs/formats/bitsandbytes.md).
#pragma once

#include <memory>
#include <set>

#include "learn/checkpoint/safetensors/weight_source.h"
#include "learn/models/config.h"

namespace hone {

// The weights under the names of the model. A weight in blocks can be read as f32 or as unchanged
// blocks; the further tensors that describe its form are hidden. `turned` names the weights that
// the family keeps as [in,out]; bitsandbytes keeps them as [out,in]. H2285: a tensor is missing, or
// has another size or an unknown form.
Result<std::unique_ptr<WeightSource>> read_bitsandbytes(std::unique_ptr<WeightSource> weights,
                                                        const std::set<std::string>& turned);

// The quantization that config.json names; null: none. H2285: it is not one of bitsandbytes.
Result<std::shared_ptr<const Quantization>> quantization_of_config(const ModelConfig& config);

}  // namespace hone
