// Quantized weights of linear layers (QLoRA, arXiv 2305.14314), by the settings of Transformers' BitsAndBytesConfig,
// or in the form that the model's file has. A quantized weight is frozen and has no gradient; an adapter may be
// trained beside it. A quantized weight has two parts: the payload, which has the codes of its elements, and the
// scales. In some schemes the payload also holds the scales (engine/ops/block_schemes.h). The matrix of a quantized
// weight is always [out,in].
#pragma once

#include <map>
#include <string>
#include <vector>

#include "engine/graph/type.h"

namespace hone {

struct ModelConfig;
struct ParamSpec;

struct Quantization {
  std::string scheme = "nf4";             // a name in engine/ops/block_schemes.h
  bool nested = false;                    // double quantization: scales are quantized to 8 bits
  bool bf16 = false;                      // matrix products round both operands to bf16
  std::vector<std::string> skipped = {};  // modules that stay floats, by any part of their names
  // For a file with quantized weights, such as GGUF: the scheme of each weight, by its name. If of_file is not empty,
  // `scheme` is not used, and weights that are not in of_file stay floats.
  std::map<std::string, std::string> of_file = {};

  // The scheme of the weight of the linear layer `layer`, whose matrix has `columns` columns; "": it stays floats. All
  // linear layers are quantized except those that Transformers skips (heads, T5's wo, `skipped`), modules that an
  // adapter trains in full, and matrices whose rows are not whole blocks. `weight`: the name of the weight; "": the
  // layer's name and ".weight".
  std::string scheme_of(const ModelConfig& c, const std::string& layer, int64_t columns,
                        const std::string& weight = "") const;
};

// A state (a tensor that a session keeps between runs) that holds a weight, or a part of it.
struct KeptState {
  std::string name;
  Type type;
};
// The states that hold a weight: one f32 state with its name and shape; for a quantized weight the payload u8[rows,
// bytes of a row] under its name, and the scales under its name with the endings below.
std::vector<KeptState> kept_states(const ParamSpec& spec);
// The shape of a quantized weight as one matrix: [out,in]; for a stack of E matrices [E*out,in].
Shape block_shape(const ParamSpec& spec);
// The index in spec.shape (row-major) of element i of the matrix of block_shape().
int64_t family_element(const ParamSpec& spec, int64_t i);

// bitsandbytes' endings for the names of scales. kScales: the scales, or their 8-bit codes. kNestedScales: the scales
// of these codes. kScaleOffset: their offset (NestedScales in learn/pretrained/quantize.h).
inline constexpr const char* kScales = ".absmax";
inline constexpr const char* kNestedScales = ".nested_absmax";
inline constexpr const char* kScaleOffset = ".nested_offset";

}  // namespace hone
