// Frozen weights of linear layers in few bits (QLoRA, arXiv 2305.14314), in the form of
// BitsAndBytesConfig or of their file: a payload in the place of the weight, and scales unless the
// payload holds them (engine/ops/block_schemes.h), always [out,in]. An adapter trains beside them;
// they have no gradient.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "engine/graph/type.h"

namespace hone {

struct ModelConfig;
struct ParamSpec;

struct Quantization {
  std::string scheme = "nf4";             // of engine/ops/block_schemes.h
  bool nested = false;                    // scales of 4-bit schemes in 8 bits: double quantisation
  bool bf16 = false;                      // their products take both operands rounded to it
  std::vector<std::string> skipped = {};  // modules, by any part of their names
  // The schemes of a file that keeps weights in blocks, such as GGUF, by the names of weights. If there are any, they replace `scheme`,
  // and other weights stay as they are.
  std::map<std::string, std::string> of_file = {};

  // The scheme of the weight of the linear layer, or "": it stays as it is. All linear layers are
  // quantized but those that Transformers leaves out (heads, T5's wo, `skipped`), modules that an
  // adapter trains whole, and rows that are not whole blocks.
  // `weight`: the name of the weight; "": it is the layer's with ".weight".
  std::string scheme_of(const ModelConfig& c, const std::string& layer, int64_t columns,
                        const std::string& weight = "") const;
};

// The states that hold a weight: one of its name and type, or the payload u8[out,..] under its name
// and the scales beside it.
struct KeptState {
  std::string name;
  Type type;
};
std::vector<KeptState> kept_states(const ParamSpec& spec);
// [out,in] of a weight that is kept in blocks; [E*out,in] of a stack of E.
Shape block_shape(const ParamSpec& spec);
// The place in the family's order of element i of that matrix.
int64_t family_element(const ParamSpec& spec, int64_t i);

// bitsandbytes' names of the scales, after the weight's.
inline constexpr const char* kScales = ".absmax";
inline constexpr const char* kNestedScales = ".nested_absmax";
inline constexpr const char* kScaleOffset = ".nested_offset";

}  // namespace hone
