// Reads checkpoints that Transformers saved with bitsandbytes. They keep the weight of a linear layer
// quantized, in blocks, and describe its form in further tensors (docs/formats/bitsandbytes.md).
#pragma once

#include <memory>
#include <set>

#include "learn/checkpoint/safetensors/weight_source.h"
#include "learn/models/config.h"

namespace hone {

// Returns the weights under the names of the model. A quantized weight can be read as floats or as its
// unchanged blocks; the further tensors that describe its form are hidden. Without quantized weights
// `weights` is returned unchanged. `turned` names the weights that the model family keeps as [in,out];
// bitsandbytes keeps them as [out,in]. H2285: a tensor that describes a quantized weight is missing, or
// its size or form is not one that hone knows.
Result<std::unique_ptr<WeightSource>> read_bitsandbytes(std::unique_ptr<WeightSource> weights,
                                                        const std::set<std::string>& turned);

// The bitsandbytes quantization in config.json's quantization_config. Null: the model is not quantized,
// or only its experts are, in MXFP4 (mxfp4.h). H2285: it is quantized by another method.
Result<std::shared_ptr<const Quantization>> quantization_of_config(const ModelConfig& config);

}  // namespace hone
