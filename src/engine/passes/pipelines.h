// The order of passes, in one place.
#pragma once

#include <vector>

#include "engine/passes/pass.h"
#include "engine/passes/precision.h"
#include "engine/passes/store_weights.h"

namespace hone {

// Forward and backward of one micro-batch. accumulate: gradients are added to those there are.
std::vector<Pass> train_pipeline(bool accumulate, Precision precision = Precision::f32);
// Evaluation, generation, optimizer update.
std::vector<Pass> forward_pipeline(WeightStorage weights = WeightStorage::f32,
                                   Precision precision = Precision::f32);

}  // namespace hone
