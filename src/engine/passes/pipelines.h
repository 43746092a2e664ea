// The order of passes, in one place.
#pragma once

#include <vector>

#include "engine/passes/pass.h"
#include "engine/passes/precision.h"
#include "engine/passes/store_weights.h"

namespace hone {

// A whole optimizer step of one micro-batch: forward, backward, update. `update` is a pass that
// takes the outputs "grad.<parameter>" away and writes new versions of the parameters. `moments`:
// where the optimizer's states are.
std::vector<Pass> step_pipeline(std::function<Result<bool>(Program&)> update,
                                Precision precision = Precision::f32,
                                Space moments = Space::device);
// Forward and backward of one micro-batch. accumulate: gradients are added to those there are.
std::vector<Pass> train_pipeline(bool accumulate, Precision precision = Precision::f32);
// The update of gradients that are states.
std::vector<Pass> update_pipeline(Space moments = Space::device);
// Evaluation and generation.
std::vector<Pass> forward_pipeline(WeightStorage weights = WeightStorage::f32,
                                   Precision precision = Precision::f32);

}  // namespace hone
