// Types of a run's computation and stored values, from --bf16, --fp16 and --grad_accum_dtype.
#pragma once

#include "engine/passes/pipelines.h"
#include "learn/train/settings.h"

namespace hone {

struct TrainingPrecision {
  Precision products = Precision::f32;
  DType stored = DType::f32;     // activations that wait for the backward pass
  bool saturate = false;         // values too large for that are stored as its largest value
  DType gradients = DType::f32;  // gradients of weights that wait for the update
};

// accumulate: a step may have several micro-batches, whose gradients are summed in f32 unless
// grad_accum_dtype is set; a step of one micro-batch keeps them in two bytes. safe_in_f16: of the
// family (Family). If it is false, with fp16, products stay in f32, because operands above 65,504
// would be infinite, and so do gradients unless grad_accum_dtype is fp16. Errors: H0211 bf16 and
// fp16 at once, or a grad_accum_dtype that is not f32 without its flag.
Result<TrainingPrecision> training_precision(const TrainSettings& s, bool accumulate,
                                             bool safe_in_f16);

}  // namespace hone
