// The programs of causal language modelling.
//
//   inputs  ids, positions, labels i32[T], cu_seqlens i32[S+1]
//           for training also sample_ids i64[T], rng i64[2] = {seed, step},
//           scale f32[] = 1 / label tokens of the optimizer step
//   train   output loss f32[] = scale * sum of nll; gradients in the states grad.<weight>
//   eval    outputs nll f32[T] (0 where there is no label), correct i32[T]
#pragma once

#include "learn/tasks/task_settings.h"

namespace hone {

// Before any pass.
Program build_clm_train(const ModelConfig& config, const BatchShape& shape, const std::string& name,
                        double label_smoothing = 0);
Program build_clm_eval(const ModelConfig& config, const BatchShape& shape, const std::string& name,
                       double label_smoothing = 0);

}  // namespace hone
