// torch.optim.SGD.
#include "learn/train/optimizers/errors.h"
#include "learn/train/optimizers/optimizer.h"

namespace hone {

Status check_nesterov(const Attrs& attrs) {
  if (!attrs.flag("nesterov")) return Ok{};
  if (attrs.real("momentum") > 0 && attrs.real("dampening") == 0) return Ok{};
  return Error(err::kOptimizerArgument, "nesterov needs a momentum and no dampening")
      .todo("add momentum=0.9, or leave nesterov out");
}

Optimizer optimizer_sgd() {
  return {.names = {"sgd"},
          .op = "sgd",
          .arguments = {{"momentum", 0.0, 0}, {"dampening", 0.0}, {"nesterov", false}},
          .check = check_nesterov,
          .states =
              [](const Attrs& attrs) {
                StateLists lists;
                if (attrs.real("momentum") != 0)
                  lists.push_back(state_like_weight("momentum_buffer"));
                return lists;
              },
          .usual_rates = {1e-3, 1e-1},
          .deepspeed = {{"SGD"}}};
}

}  // namespace hone
