// Checkpoints that Transformers saved with bitsandbytes: a linear layer's weight in blocks, with
// further tensors that describe its form (docs/formats/bitsandbytes.md).
#pragma once

#include <memory>
#include <set>

#include "learn/checkpoint/safetensors/weight_source.h"
#include "learn/models/config.h"

namespace hone {

// The same weights by their names: blocks are read as f32 or as they are, their further tensors are
// hidden. `turned` names weights that the family keeps [in,out], bitsandbytes [out,in]. H2285: a
// tensor is missing, has another size or an unknown form.
Result<std::unique_ptr<WeightSource>> read_bitsandbytes(std::unique_ptr<WeightSource> weights,
                                                        const std::set<std::string>& turned);

// The quantization in config.json; null: none. H2285: another kind than bitsandbytes'.
Result<std::shared_ptr<const Quantization>> quantization_of_config(const ModelConfig& config);

}  // namespace hone
