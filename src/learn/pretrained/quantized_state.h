// Weights in blocks in the states of a session (models/quantization.h).
#pragma once

#include <functional>

#include "engine/session/session.h"
#include "learn/checkpoint/safetensors/weight_source.h"
#include "learn/models/graph.h"

namespace hone {

// Fills `to` with elements of the weight [out,in] from element `first` on.
using WeightReader = std::function<Status(int64_t first, std::span<float> to)>;

// Quantizes the weight into its states, a part at a time. H2284: a value is not finite.
Status write_quantized(Session& session, const ParamSpec& spec, const WeightReader& read,
                       const std::string& source);
// Copies the blocks of tensor `t`, which have the weight's scheme, into its states. H2284: a scale
// is not finite.
Status copy_blocks(Session& session, const ParamSpec& spec, const WeightSource& weights,
                   const TensorInfo& t);
// The f32 values of a weight, in the family's shape, from its states.
std::vector<float> weight_values(const Session& session, const ParamSpec& spec);

}  // namespace hone
