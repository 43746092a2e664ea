// torch.optim.Adagrad (Duchi et al. 2011).
#include "learn/train/optimizers/optimizer.h"

namespace hone {

Optimizer optimizer_adagrad() {
  return {.names = {"adagrad"},
          .op = "adagrad",
          .arguments = {{"lr_decay", 0.0, 0}, {"eps", 1e-10, 0}},
          .states = [](const Attrs&) { return StateLists{state_like_weight("sum")}; },
          .usual_rates = {1e-3, 1e-1}};
}

}  // namespace hone
