// Weights that the states of a session hold in blocks (models/quantization.h).
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
// Copies the blocks of tensor `t`, which are those of the weight's scheme, into its states. H2284:
// a scale is not finite.
Status copy_blocks(Session& session, const ParamSpec& spec, const WeightSource& weights,
                   const TensorInfo& t);
// A weight of the family's shape, in f32: what its states stand for.
std::vector<float> weight_values(const Session& session, const ParamSpec& spec);

}  // namespace hone
