// Lion (Chen et al. 2023, arXiv 2302.06675). Its authors advise a learning rate 3 to 10 times
// smaller than AdamW's.
#include "learn/train/optimizers/optimizer.h"

namespace hone {

Optimizer optimizer_lion() {
  return {.names = {"lion", "lion_32bit", "paged_lion_32bit"},
          .op = "lion",
          .adam = {{"beta1", &AdamSettings::beta1}, {"beta2", &AdamSettings::beta2}},
          .states = [](const Attrs&) { return StateLists{state_like_weight("exp_avg")}; },
          .usual_rates = {1e-6, 3e-5},
          .deepspeed = {{"Lion", 0.9, 0.99}}};
}

}  // namespace hone
