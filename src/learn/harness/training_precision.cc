#include "learn/harness/training_precision.h"

#include "base/settings/errors.h"

namespace hone {

Result<TrainingPrecision> training_precision(const TrainSettings& s, bool accumulate,
                                             bool safe_in_f16) {
  if (s.bf16 && s.fp16)
    return Error(err::kSettingConflict, "--bf16 and --fp16 exclude each other")
        .todo("leave one of them out: float16 is more exact, bfloat16 holds larger values");
  TrainingPrecision p;
  if (s.bf16) p = {Precision::bf16, DType::bf16, false, DType::bf16};
  if (s.fp16)
    p = {safe_in_f16 ? Precision::f16 : Precision::f32, DType::f16, !safe_in_f16, DType::f32};
  const std::string& sums = s.grad_accum_dtype;
  if (sums == "bf16" && !s.bf16)
    return Error(err::kSettingConflict, "--grad_accum_dtype bf16 needs --bf16")
        .todo("give --bf16, or leave --grad_accum_dtype out: float32 is the default");
  if (sums == "fp32" || (sums == "auto" && accumulate)) p.gradients = DType::f32;
  return p;
}

}  // namespace hone
