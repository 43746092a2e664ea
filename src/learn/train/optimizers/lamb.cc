// LAMB (You et al. 2019, arXiv 1904.00962): AdamW with a rate for each weight. With always_adapt=false weights without decay,
// such as biases and norms, have AdamW's rate, as in timm and in NVIDIA's FusedLAMB. trust_clip keeps each rate at or below that
// of the run, as in timm.
#include "learn/train/optimizers/optimizer.h"

namespace hone {

Optimizer optimizer_lamb() {
  return {.names = {"lamb"},
          .op = "lamb",
          .adam = betas_and_epsilon(),
          .arguments = {{"always_adapt", true}, {"trust_clip", false}},
          .states = adam_states,
          .is_for =
              [](const UpdateWeight& w, const Attrs& attrs) {
                return attrs.flag("always_adapt", true) || decays(w, attrs);
              },
          .other_op = "adamw",
          .other_states = adam_states,
          .updates_bf16 = false,
          .usual_rates = {1e-4, 1e-3},
          .deepspeed = {{"Lamb"}}};
}

}  // namespace hone
