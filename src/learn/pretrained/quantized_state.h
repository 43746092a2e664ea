// Writes quantized weights into the states of a session and reads them back. A weight has one state for its codes and
// further ones for its scales (kept_states() in models/quantization.h).
#pragma once

#include <functional>

#include "engine/session/session.h"
#include "learn/checkpoint/safetensors/weight_source.h"
#include "learn/models/graph.h"

namespace hone {

// Fills `to` with the elements `first`, `first` + 1, ... of the weight [out,in], row-major.
using WeightReader = std::function<Status(int64_t first, std::span<float> to)>;

// Quantizes the weight `spec` to spec.scheme and writes it into its states. Calls `read` for one part after the other,
// in ascending order. `source`: the file of the weight, for messages. H2284: a value is not finite. Errors of `read`.
Status write_quantized(Session& session, const ParamSpec& spec, const WeightReader& read,
                       const std::string& source);
// Copies the blocks of the tensor `t` of `weights` into the states of the weight `spec`; t.blocks must be spec.scheme.
// H2284: a scale is not finite.
Status copy_blocks(Session& session, const ParamSpec& spec, const WeightSource& weights,
                   const TensorInfo& t);
// The values of a weight from its states as f32, in spec.shape; a weight in bf16 or in blocks is converted.
std::vector<float> weight_values(const Session& session, const ParamSpec& spec);

}  // namespace hone
