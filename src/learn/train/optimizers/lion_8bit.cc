// Lion with bitsandbytes' 8-bit states; for which weights: adamw_8bit.cc.
#include "learn/train/optimizers/optimizer.h"

namespace hone {

Optimizer optimizer_lion_8bit() {
  return {.names = {"lion_8bit", "paged_lion_8bit"},
          .op = "lion_8bit",
          .adam = {{"beta1", &AdamSettings::beta1}, {"beta2", &AdamSettings::beta2}},
          .states =
              [](const Attrs&) {
                return StateLists{state_codes("state1"), state_absmax("absmax1")};
              },
          .is_for = has_codes,
          .other_op = "lion",
          .other_states = [](const Attrs&) { return StateLists{state_like_weight("state1")}; },
          .usual_rates = {1e-6, 3e-5}};
}

}  // namespace hone
