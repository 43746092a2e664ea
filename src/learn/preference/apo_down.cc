// APO-down (arXiv 2408.06266, equation 8): for chosen answers worse than the model's own.
#include "learn/preference/preference_loss.h"

namespace hone {

PreferenceLoss preference_loss_apo_down() {
  return {.name = "apo_down", .of_pairs = [](const PreferencePairs& p) {
            const ValueId apart = p.times_beta(ops::sub(p.b, p.chosen, p.rejected));
            const ValueId won = p.sigmoid(p.times_beta(p.chosen));
            return ops::add(p.b, won, p.plus(p.times(p.sigmoid(apart), -1), 1));
          }};
}

}  // namespace hone
