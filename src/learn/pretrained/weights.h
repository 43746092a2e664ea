// A family's weights in a checkpoint, under whichever name it keeps them.
#pragma once

#include "learn/checkpoint/weight_source.h"
#include "learn/models/family.h"

namespace hone {

// By the family's name, an older one, or the other name of a tie; nullptr: none of them is there.
const TensorInfo* find_weight(const WeightSource& weights, const ModelConfig& config,
                              const std::string& name);
// The same with the shape checked. H2281, H2282.
Result<const TensorInfo*> require_weight(const WeightSource& weights, const ModelConfig& config,
                                         const ParamSpec& spec);

}  // namespace hone
