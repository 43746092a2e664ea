// The programs of masked language modelling. M label rows are those tokens whose prediction counts:
// the head is computed for them alone.
//
//   inputs  those of task_settings.h; label_rows i32[M] (which token; -1: none), labels i32[M] (its
//           true id; -100: none)
//   train   output loss f32[] = scale * sum of nll; gradients in the states grad.<weight>
//   eval    outputs nll f32[M] (0 where there is no label), correct i32[M]
#pragma once

#include "learn/tasks/task_settings.h"

namespace hone {

// Before any pass. The head of `config` is masked_lm.
Program build_mlm(const ModelConfig& config, const BatchShape& shape, int64_t label_rows,
                  const std::string& name, bool train, double label_smoothing = 0);

}  // namespace hone
