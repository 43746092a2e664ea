// The types in which a run computes and stores values, from --bf16, --fp16, --dtype and --grad_accum_dtype.
#pragma once

#include "engine/passes/pipelines.h"
#include "learn/train/settings.h"

namespace hone {

struct TrainingPrecision {
  Precision products = Precision::f32;  // operands of matrix products
  DType stored = DType::f32;            // activations that are kept for the backward pass
  // True: activations that are too large for `stored` are stored as its largest value, not as infinity.
  bool saturate = false;
  DType gradients = DType::f32;  // gradients of weights that are kept for the update
};

// Finds the types of a run.
//   accumulate    Whether a step may have several micro-batches. True: their gradients are summed in f32, unless
//                 --grad_accum_dtype names a type. False: gradients are kept in the type in which the run computes
//                 (f32, bf16 or f16), unless --grad_accum_dtype is fp32.
//   safe_in_f16   Family::safe_in_f16 of the model. If it is false, operands above 65,504 would be infinite in f16:
//                 --fp16 then keeps products in f32. It also keeps gradients in f32, unless --grad_accum_dtype is
//                 fp16.
// Errors: H0211 bf16 and fp16 are both set; --grad_accum_dtype is bf16 or fp16 and the run does not compute in that
// type; --split_invariant with gradients that are not f32.
Result<TrainingPrecision> training_precision(const TrainSettings& s, bool accumulate,
                                             bool safe_in_f16);

}  // namespace hone
