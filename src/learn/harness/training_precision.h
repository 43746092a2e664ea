// What a run computes with and keeps its values in, as --bf16, --fp16 and --grad_accum_dtype say.
#pragma once

#include "engine/passes/pipelines.h"
#include "learn/train/settings.h"

namespace hone {

struct TrainingPrecision {
  Precision products = Precision::f32;
  DType stored = DType::f32;     // activations that wait for the backward pass
  bool saturate = false;         // those too large for that wait as its largest value
  DType gradients = DType::f32;  // gradients of weights that wait for the update
};

// accumulate: a step may be several micro-batches, whose gradients are summed. They are summed in f32
// unless grad_accum_dtype says otherwise; those of a step of one micro-batch are kept in two bytes.
// safe_in_f16: of the family (Family). Without it, with fp16, products stay in f32, where operands
// above 65,504 would be infinite, and so do gradients unless grad_accum_dtype is fp16. Errors: H0211
// bf16 and fp16 at once; a grad_accum_dtype that is not f32 without its flag.
Result<TrainingPrecision> training_precision(const TrainSettings& s, bool accumulate,
                                             bool safe_in_f16);

}  // namespace hone
