#include "learn/harness/training_precision.h"

#include "base/settings/errors.h"

namespace hone {

Result<TrainingPrecision> training_precision(const TrainSettings& s, bool accumulate,
                                             bool safe_in_f16) {
  if (s.computes_in_bf16() && s.fp16)
    return Error(err::kSettingConflict, fmt::format("{} and --fp16 exclude each other",
                                                    s.bf16 ? "--bf16" : "--dtype bfloat16"))
        .todo("leave one of them out: float16 is more exact, bfloat16 holds larger values");
  TrainingPrecision p;
  if (s.computes_in_bf16()) p = {Precision::bf16, DType::bf16, false, DType::bf16};
  if (s.fp16)
    p = safe_in_f16 ? TrainingPrecision{Precision::f16, DType::f16, false, DType::f16}
                    : TrainingPrecision{Precision::f32, DType::f16, true, DType::f32};
  const std::string& sums = s.grad_accum_dtype;
  if ((sums == "bf16" && !s.computes_in_bf16()) || (sums == "fp16" && !s.fp16))
    return Error(err::kSettingConflict, fmt::format("--grad_accum_dtype {} needs --{}", sums, sums))
        .todo(fmt::format("give --{}, or leave --grad_accum_dtype out: float32 is the default",
                          sums));
  if (sums == "fp32" || (sums == "auto" && accumulate)) p.gradients = DType::f32;
  if (sums == "fp16") p.gradients = DType::f16;
  if (s.split_invariant > 0 && p.gradients != DType::f32)
    return Error(err::kSettingConflict,
                 fmt::format(
                     "--split_invariant and --grad_accum_dtype {} exclude each other: sums in "
                     "16 bits are rounded as often as there are ranks",
                     sums))
        .todo("leave --grad_accum_dtype out: float32 is the default");
  return p;
}

}  // namespace hone
