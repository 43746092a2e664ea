// StableAdamW (Wortsman et al. 2023, arXiv 2304.13013): AdamW whose step of a tensor becomes smaller if its
// gradient is large for its second moment. As the package torch-optimi, which Transformers' Trainer calls.
#include "learn/train/optimizers/optimizer.h"

namespace hone {

Optimizer optimizer_stable_adamw() {
  return {.names = {"stable_adamw"},
          .op = "stable_adamw",
          .adam = betas_and_epsilon(),
          .states = adam_states,
          .updates_bf16 = false,
          .decomposed = true};
}

}  // namespace hone
