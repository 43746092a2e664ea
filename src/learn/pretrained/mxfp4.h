// Reads and writes weights in MXFP4 (OCP Microscaling Formats 1.0), the form of gpt-oss' expert matrices. A block is
// 32 elements of 4 bits (E2M1: sign, two bits of exponent, one of mantissa) with one byte s; its scale is 2^(s - 127).
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "learn/checkpoint/safetensors/safetensors_writer.h"
#include "learn/checkpoint/safetensors/weight_source.h"

namespace hone {

struct ModelConfig;
// Whether quant_method in config.json's quantization_config is "mxfp4".
bool is_in_mxfp4(const ModelConfig& c);

// The value of quant_method in config.json. The block scheme (engine/ops/block_schemes.h) has the same name.
inline constexpr const char* kMxfp4 = "mxfp4";

// A checkpoint holds a stack of E expert matrices X as two tensors:
//   X_blocks  u8[E,M,K/32,16]  codes; the low 4 bits of a byte are the element with the even index
//   X_scales  u8[E,M,K/32]     the byte s of each block
// Returns the weights with each such pair replaced by one tensor X [E,K,M], the shape that Transformers gives it. X
// can be read as floats or as blocks of the scheme "mxfp4". Without a pair `weights` is returned unchanged.
std::unique_ptr<WeightSource> read_mxfp4(std::unique_ptr<WeightSource> weights);
// The reverse: two tensors to write, `name`_blocks and `name`_scales, for the tensor `t` [E,K,M] of `weights`, which
// has it in blocks of the scheme "mxfp4". Their values are read from `weights` only when the tensors are written;
// `weights` must outlive them.
std::vector<TensorData> mxfp4_pair(const WeightSource& weights, const TensorInfo& t,
                                   const std::string& name);

}  // namespace hone
