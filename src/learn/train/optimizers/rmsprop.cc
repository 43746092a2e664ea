// torch.optim.RMSprop.
#include "learn/train/optimizers/optimizer.h"

namespace hone {

Optimizer optimizer_rmsprop() {
  return {.names = {"rmsprop"},
          .op = "rmsprop",
          .arguments = {{"momentum", 0.0, 0},
                        {"alpha", 0.99, 0, 1},
                        {"eps", 1e-8, 0},
                        {"centered", false}},
          .states = [](const Attrs& attrs) {
            StateLists lists{state_like_weight("square_avg")};
            if (attrs.flag("centered")) lists.push_back(state_like_weight("grad_avg"));
            if (attrs.real("momentum") != 0) lists.push_back(state_like_weight("momentum_buffer"));
            return lists;
          }};
}

}  // namespace hone
