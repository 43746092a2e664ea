// torch.optim.Adam (Kingma and Ba 2014, arXiv 1412.6980): weight decay is part of the gradient, of
// every weight.
#include "learn/train/optimizers/optimizer.h"

namespace hone {

Optimizer optimizer_adam() {
  return {.names = {"adam", "adam_torch"},
          .op = "adamw",
          .fixed = {{"l2", true}},
          .adam = betas_and_epsilon(),
          .states = adam_states,
          .decay_all = true};
}

}  // namespace hone
