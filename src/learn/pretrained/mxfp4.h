// Weights in MXFP4 (OCP Microscaling Formats 1.0), as gpt-oss keeps the matrices of its experts: 32 elements
// in 4 bits, E2M1, share a scale 2^(s - 127) in a byte.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "learn/checkpoint/safetensors/safetensors_writer.h"
#include "learn/checkpoint/safetensors/weight_source.h"

namespace hone {

struct ModelConfig;
// Whether config.json says that the matrices of experts are in MXFP4.
bool is_in_mxfp4(const ModelConfig& c);

// quant_method in config.json, and the scheme of the blocks.
inline constexpr const char* kMxfp4 = "mxfp4";

// Reads each pair X_blocks u8[E,M,K/32,16], the even element of a byte in its low half, and X_scales
// u8[E,M,K/32] as the tensor X [E,K,M], which Transformers makes of it, or as its blocks of the scheme mxfp4
// (engine/ops/block_schemes.h). The weights themselves if there is no pair.
std::unique_ptr<WeightSource> read_mxfp4(std::unique_ptr<WeightSource> weights);
// The pair of a tensor that `weights` has in these blocks, to write as `name`_blocks and `name`_scales; it reads
// from `weights`, which must outlive it.
std::vector<TensorData> mxfp4_pair(const WeightSource& weights, const TensorInfo& t,
                                   const std::string& name);

}  // namespace hone
