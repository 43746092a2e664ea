// LAMB (You et al. 2019, arXiv 1904.00962): AdamW with a rate for each weight.
#include "learn/train/optimizers/optimizer.h"

namespace hone {

Optimizer optimizer_lamb() {
  return {.names = {"lamb"},
          .op = "lamb",
          .adam = betas_and_epsilon(),
          .states = adam_states,
          .updates_bf16 = false,
          .usual_rates = {1e-4, 1e-3},
          .deepspeed = {{"Lamb"}}};
}

}  // namespace hone
