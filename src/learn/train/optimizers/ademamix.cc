// AdEMAMix (Pagliardini et al. 2024, arXiv 2409.03137): AdamW with a second, slow mean of the gradients. As
// bitsandbytes' AdEMAMix, which Transformers' Trainer calls.
#include "learn/train/optimizers/errors.h"
#include "learn/train/optimizers/optimizer.h"

namespace hone {
namespace {

Status check_ademamix(const Attrs& attrs) {
  if (attrs.integer("t_beta3") == 0 || attrs.real("beta1") > 0) return Ok{};
  return Error(err::kOptimizerArgument, "beta3 grows from beta1, which is 0")
      .todo("leave t_beta3 out, or give a larger --adam_beta1");
}

}  // namespace

Optimizer optimizer_ademamix() {
  return {.names = {"ademamix", "paged_ademamix_32bit"},
          .op = "ademamix",
          .adam = betas_and_epsilon(),
          .arguments = {{"beta3", 0.9999, 1e-6, 1 - 1e-9},
                        {"alpha", 5.0, 0},
                        {"t_alpha", int64_t{0}, 0, 1e15},
                        {"t_beta3", int64_t{0}, 0, 1e15}},
          .check = check_ademamix,
          .states =
              [](const Attrs&) {
                return StateLists{state_like_weight("exp_avg"), state_like_weight("exp_avg_slow"),
                                  state_like_weight("exp_avg_sq")};
              },
          .decomposed = true};
}

}  // namespace hone
